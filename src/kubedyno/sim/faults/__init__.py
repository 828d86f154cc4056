"""What goes wrong with simulated nodes: faults on the Node object, which nodes they meet, and when."""

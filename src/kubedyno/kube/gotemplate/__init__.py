"""Go's text/template: parser and evaluator, in bounds, with Go's words and positions for what is wrong."""

import sys
from pathlib import Path

# With --import-mode=importlib test folders are not on the path; `small_cluster` is shared by the tests of this one.
sys.path.insert(0, str(Path(__file__).parent))

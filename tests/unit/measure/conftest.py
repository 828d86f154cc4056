import sys
from pathlib import Path

# With --import-mode=importlib test folders are not on the path; `worlds_of_recording` is shared by the tests here.
sys.path.insert(0, str(Path(__file__).parent))

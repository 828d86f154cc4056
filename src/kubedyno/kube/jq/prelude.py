"""Functions that jq itself can say."""

from typing import Final

PRELUDE: Final = r"""
def map(f): [.[] | f];
def add(f): [f] | add;
def map_values(f): .[] |= f;
def in(whole): . as $key | whole | has($key);
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: arrays, objects;
def scalars: select(type | . != "array" and . != "object");
def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def nth($n; f): if $n >= 0 then first(skip($n; f)) else error("nth doesn't support negative index") end;
def any(items; condition): isempty(items | select(condition)) | not;
def any(condition): any(.[]; condition);
def any: any(.[]; .);
def all(items; condition): isempty(items | select(condition | not));
def all(condition): all(.[]; condition);
def all: all(.[]; .);
def IN(items): any(items == .; .);
def IN(source; items): any(source == items; .);
def INDEX(stream; key): reduce stream as $row ({}; .[$row | key | tostring] = $row);
def INDEX(key): INDEX(.[]; key);
def to_entries: [keys[] as $key | {$key, value: .[$key]}];
def from_entries:
  map({(.key // .Key // .name // .Name): (if has("value") then .value else .Value end)}) | add // {};
def with_entries(f): to_entries | map(f) | from_entries;
def paths: path(..) | select(length > 0);
def paths(condition): path(.. | select(condition)) | select(length > 0);
def del(targets): delpaths([path(targets)]);
def pick(targets): . as $whole | reduce path(targets) as $path (null; setpath($path; $whole | getpath($path)));
def walk(f):
  def inner: (if type == "array" then map(inner) elif type == "object" then map_values(inner) end) | f; inner;
def test($pattern; $flags): _test($pattern; $flags);
def test($pattern): _test($pattern; null);
def match($pattern; $flags): _matches($pattern; $flags)[];
def match($pattern): match($pattern; null);
def capture($pattern; $flags): match($pattern; $flags) | .captures | _captures;
def capture($pattern): capture($pattern; null);
def scan($pattern; $flags):
  match($pattern; $flags + "g") | if .captures == [] then .string else [.captures[].string] end;
def scan($pattern): scan($pattern; null);
def splits($pattern; $flags):
  . as $text
  | foreach (match($pattern; $flags + "g"), null) as $found ({};
      {start: .next, end: $found.offset, next: ($found.offset + $found.length)};
      . as $part | $text[$part.start:$part.end]);
def splits($pattern): splits($pattern; null);
def split($pattern; $flags): [splits($pattern; $flags)];
def sub($pattern; replacement; $flags):
  . as $text
  | [match($pattern; $flags)]
  | if . == [] then $text else
      reduce .[] as $found ([{done: "", next: 0}];
        [.[] as $so_far
         | ($found.captures | _captures | replacement) as $new
         | {done: ($so_far.done + $text[$so_far.next:$found.offset] + $new), next: ($found.offset + $found.length)}])
      | .[] | .done + $text[.next:]
    end;
def sub($pattern; replacement): sub($pattern; replacement; null);
def gsub($pattern; replacement; $flags): sub($pattern; replacement; $flags + "g");
def gsub($pattern; replacement): sub($pattern; replacement; "g");
"""

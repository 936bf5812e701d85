#!/usr/bin/env bash
# The first hour of a newcomer, as a transcript with times: bench/newcomer.sh dist/WHEEL. It needs Python 3.10 or later and the network.
# It ends at the first step that fails.
set -e
[ -f "$1" ] || { echo "newcomer.sh: there is no wheel ${1:-(none was named)}; make one with make wheel" >&2; exit 2; }
now() { date +%s.%N; }
seconds() { awk -v since="$1" -v now="$(now)" 'BEGIN { printf "%.1f s", now - since }'; }
step() {
  since=$(now) status=0
  printf '\n$ %s\n' "$*"
  bash -c "$*" > step.log 2>&1 || status=$?
  took=$(seconds "$since")
  head -"${LINES_MAX:-40}" step.log
  printf '# %s\n' "$took"
  [ $status = 0 ] || { echo "# failed with $status"; exit 1; }
}
begin=$(now)
WHEEL=$(realpath "$1") TUTORIAL=$(realpath "$(dirname "$0")/../docs/tutorial.md"); cd "$(mktemp -d)"
export CUPROUS_CACHE_DIR=$PWD/cache
unset PYTHONPATH
step python3 -m venv v
export WHEEL; step 'v/bin/pip install -q --disable-pip-version-check $WHEEL && v/bin/pip list 2>/dev/null && du -sh v'
step v/bin/cuprous doctor
# The program that the tutorial's blocks are.
sed -n '/^```python$/,/^```$/{/^```/d;p}' "$TUTORIAL" > tutorial.py
step v/bin/python tutorial.py
cat > own.py <<'P'
import cuprous as cp

def walk(paths, steps):
    moves = cp.random.default_rng(1).standard_normal((paths, steps))
    return cp.cumsum(moves, axis=1)

ends = walk(20_000, 250)
highest = ends.max(axis=1)
print("mean of the highest point", round(float(highest.mean()), 1))
print("half end below zero", round(float((ends[:, -1] < 0).mean()), 1))
P
step v/bin/python own.py
step v/bin/cuprous profile own.py
step v/bin/cuprous profile -q -o own.json own.py
step 'v/bin/cuprous estimate --flops 10T --data 1GB --cpu "Core i7-10700K" --gpu "RTX 3080"'
printf '\n# all: %s\n' "$(seconds "$begin")"

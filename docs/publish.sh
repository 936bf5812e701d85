#!/usr/bin/env bash
# Adds build/docs to the site of all versions in build/site: docs/publish.sh REF. The site is kept in the branch `pages`, which has
# one commit. It is replaced only by a site that contains it: if it cannot be read, or changed meanwhile, nothing is published.
set -euo pipefail
ref=${1:?name what build/docs was built from, as refs/heads/main or refs/tags/v0.1.0}
rm -rf build/site build/site.index
mkdir -p build/site
old=$(git ls-remote origin refs/heads/pages | cut -f 1) # empty if there is no such branch yet
if [ -n "$old" ]; then
  git fetch --quiet --depth 1 origin refs/heads/pages
  git archive "$old" | tar -x -C build/site
fi
python3 docs/versions.py build/docs build/site "$ref"
export GIT_INDEX_FILE=$PWD/build/site.index
export GIT_{AUTHOR,COMMITTER}_NAME=documentation GIT_{AUTHOR,COMMITTER}_EMAIL=documentation@localhost
git --work-tree build/site add --all --force .
commit=$(git commit-tree -m Documentation "$(git write-tree)")
git push --quiet --force-with-lease=refs/heads/pages:"$old" origin "$commit":refs/heads/pages

#!/bin/bash -eu
# The base image sets CC and CFLAGS, so that pip builds the compiled modules with the sanitizer and the fuzzer's hooks.
export CFLAGS="$CFLAGS -fno-sanitize=function,vptr,pointer-overflow -DPRIORY_TIGHT"
pip3 install .
for fuzzer in fuzz/*_fuzzer.py; do
  name=$(basename -s .py "$fuzzer")
  compile_python_fuzzer "$fuzzer" --paths fuzz
  zip -jq "$OUT/${name}_seed_corpus.zip" fuzz/seeds/"${name%_fuzzer}"/*
  cp fuzz/priory.dict "$OUT/$name.dict"
done

#!/bin/sh
# Plays the last of the legal moves.
while read -r request; do
    legal=${request#*\"legal\":[\"}
    legal=${legal%%\"]*}
    echo "${legal##*\",\"}"
done

#!/bin/sh
# A lock for shell scripts, as they are commonly written with redis-cli: lock.sh acquire|release|check HOST PORT KEY TOKEN [MILLISECONDS]
# Exits with 0: yes; 1: no; 2: it is not known.
cli() { redis-cli -h "$host" -p "$port" -e "$@" || exit 2; }
verb=$1 host=$2 port=$3 key=$4 token=$5 lease=$6
release='if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end'
case $verb in
acquire) reply=$(cli SET "$key" "$token" NX PX "$lease") || exit 2; [ "$reply" = OK ] ;;
release) reply=$(cli EVAL "$release" 1 "$key" "$token") || exit 2; [ "$reply" = 1 ] ;;
check) reply=$(cli GET "$key") || exit 2; [ "$reply" = "$token" ] ;;
esac

# A DHCP server as a service, as a service manager would run it. Set above: place (directory), namespace, program,
# arguments (to run it), check (arguments to check a file), reload (`hang-up` or `restart`), ready (what it says when it
# listens), reloaded (what it says when it has read its file again).
export KEA_PIDFILE_DIR=$place KEA_LOCKFILE_DIR=$place

# A process that has ended, but whom nobody has buried yet, does not run.
runs() { [ -s "$place/pid" ] && grep -q '^State:[[:space:]]*[^ZX]' "/proc/$(cat "$place/pid")/status" 2>/dev/null; }

# Waits at most five seconds for a condition.
soon() {
    for _ in $(seq 50); do
        "$@" && return
        sleep 0.1
    done
    return 1
}

listens() { grep -q "$ready" "$place/log"; }

start() {
    touch "$place/leases"
    : >"$place/log"
    ip netns exec "$namespace" "$program" $arguments </dev/null >>"$place/log" 2>&1 &
    echo $! >"$place/pid"
    soon listens
}

stopped() { ! runs; }

stop() {
    runs && kill "$(cat "$place/pid")"
    soon stopped
}

reload() {
    if ! runs; then
        start
    elif [ "$reload" = hang-up ]; then
        : >"$place/log"
        kill -HUP "$(cat "$place/pid")"
        soon grep -q "$reloaded" "$place/log"
    else
        stop && start
    fi
}

case $1 in
reload) reload ;;
stop) stop ;;
status) runs ;;
check) exec ip netns exec "$namespace" "$program" $check "$2" ;;
*) exit 2 ;;
esac

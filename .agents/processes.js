import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
/** The processes of this machine whose environment or command line holds a text that only the test's own have. */
export function processesWith(text) {
    return readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
        .map(Number)
        .filter((pid) => holds(pid, text));
}
function holds(pid, text) {
    try {
        const [stat, environ, cmdline] = ['stat', 'environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1'));
        // A zombie holds nothing any more; it only waits for its parent to look.
        return !/\) Z /.test(stat ?? '') && ((environ ?? '').includes(text) || (cmdline ?? '').includes(text));
    }
    catch {
        return false;
    }
}
/** Waits until a condition holds; fails with what was last seen. */
export async function eventually(look, isRight, patience = 20_000) {
    const until = Date.now() + patience;
    for (;;) {
        const value = await look();
        if (isRight(value))
            return value;
        if (Date.now() > until)
            throw new Error(`it did not come about; last seen: ${JSON.stringify(value)?.slice(0, 2_000)}`);
        await delay(20);
    }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
/** No CLI takes that long for a turn; one that does hangs. */
const PATIENCE = 120_000;
/** Only where no namespace keeps them on loopback: nothing listens there. */
const NOWHERE = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' };
/** Runs a command to its end in a place of its own: nothing of this machine's user, nobody to ask. */
export async function runAgent({ command, place, bin, environment }) {
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
        cwd: place.work,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
        env: { ...plainEnvironment(place, bin), ...environment },
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
        child[name].setEncoding('utf8').on('data', (text) => {
            said[name] += text;
        });
    }
    const giveUp = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), PATIENCE);
    const [code] = await once(child, 'close');
    clearTimeout(giveUp);
    return { code, ...said };
}
function plainEnvironment({ root, home }, bin) {
    return {
        PATH: [bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
        ...{ HOME: home, TMPDIR: join(root, 'tmp'), LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1' },
        SALLYPORT_MARK: process.env.SALLYPORT_MARK ?? '',
        ...(process.env.SALLYPORT_AGENTS_NETWORK === 'loopback' ? {} : NOWHERE),
    };
}

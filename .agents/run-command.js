import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MAIN } from './run-gateway.js';
/** Runs the built command line to its end. */
export async function runCommand(args, options = {}) {
    const [program = '', ...rest] = [...(options.through ?? []), process.execPath, MAIN, ...args];
    const child = spawn(program, rest, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...options.env },
        ...(options.cwd !== undefined && { cwd: options.cwd }),
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
        child[name].setEncoding('utf8').on('data', (text) => {
            said[name] += text;
        });
    }
    const [code] = await once(child, 'close');
    return { code, ...said };
}
/** The error that a command printed with `--json`. */
export function errorOf({ stderr }) {
    const line = stderr.trim().split('\n').at(-1) ?? '';
    return JSON.parse(line).error;
}

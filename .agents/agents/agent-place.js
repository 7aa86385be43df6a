import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { REPOSITORY } from '../run-gateway.js';
export function makeAgentPlace(cli, setting, root = newRoot()) {
    const home = join(root, 'home');
    for (const folder of [home, join(root, 'work'), join(root, 'tmp')])
        mkdirSync(folder);
    writeFiles(home, cli.files(setting));
    return {
        root,
        home,
        work: join(root, 'work'),
        addToProject: (files) => writeFiles(join(root, 'work'), files),
        stateOf: (path) => ({
            text: readFileSync(join(home, path), 'utf8'),
            mtimeMs: statSync(join(home, path)).mtimeMs,
        }),
        remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
    };
}
function writeFiles(folder, files) {
    for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), content, { mode: 0o600 });
    }
}
export const newRoot = () => mkdtempSync(join(tmpdir(), 'sallyport-agent-'));
export const fixture = (name) => join(REPOSITORY, 'tests/fixtures', name);
export function makeDecoy(folder, name) {
    const trace = join(folder, `${name}-was-told`);
    const args = [fixture('recording-pipe.mjs'), trace, fixture('mirror-server.mjs'), join(folder, `${name}-calls`)];
    return { name, server: { command: process.execPath, args }, wasUsed: () => existsSync(trace) };
}

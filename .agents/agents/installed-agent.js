import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import packages from './packages.json' with { type: 'json' };
/** Undefined unless the pinned version is there. */
export function findInstalled(id) {
    const pinned = packages[id];
    const folder = join(process.env.SALLYPORT_AGENTS_CACHE ?? '', id);
    const about = join(folder, 'node_modules', pinned.package, 'package.json');
    if (!existsSync(about) || JSON.parse(readFileSync(about, 'utf8')).version !== pinned.version)
        return undefined;
    const bin = join(folder, 'bin');
    return { version: pinned.version, bin, program: join(bin, pinned.program) };
}

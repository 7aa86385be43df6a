import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mirror, Overlay } from './agent-overlay.ts'

/** Puts the files and links of an overlay into the folder of the run. */
export function writeOverlay({ files, mirrors }: Pick<Overlay, 'files' | 'mirrors'>, folder: string): void {
  for (const mirror of mirrors) linkEntries(mirror, join(folder, mirror.path))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
    // `wx`: what is written must never be something of the user's, reached by a link.
    writeFileSync(join(folder, path), `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
  }
}

/** Each entry is linked by itself: what the agent adds beside them stays in the overlay. */
function linkEntries({ source, except }: Mirror, target: string): void {
  mkdirSync(target, { recursive: true, mode: 0o700 })
  for (const name of listEntries(source))
    if (!except.includes(name)) symlinkSync(join(source, name), join(target, name))
}

function listEntries(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    // An agent that was never started has no folder yet.
    return []
  }
}

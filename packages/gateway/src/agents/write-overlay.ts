import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mirror, Overlay } from './agent-overlay.ts'

/** Writes the files and links of an overlay to the run folder. */
export function writeOverlay({ files, mirrors }: Pick<Overlay, 'files' | 'mirrors'>, folder: string): void {
  for (const mirror of mirrors) linkEntries(mirror, join(folder, mirror.path))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
    // `wx`: never overwrite a file of the user through a link.
    writeFileSync(join(folder, path), `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
  }
}

/** Links each entry separately, so that new files of the agent stay in the overlay. */
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

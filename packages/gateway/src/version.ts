import { readFileSync } from 'node:fs'

/** Ours, from the package that this file was built into. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

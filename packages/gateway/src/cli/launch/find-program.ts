import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { SallyportError } from '@sallyport/core'
import type { AgentAdapter, AgentPlace } from '../../agents/agents.ts'

/** The agent's program, as a shell would find it. */
export function findProgram({ title, program }: AgentAdapter, { environment, cwd, platform }: AgentPlace): string {
  const suffixes = platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : ['']
  const folders = (environment.PATH ?? '').split(delimiter)
  for (const folder of folders)
    for (const suffix of suffixes) {
      // An empty part means the working folder, as in a shell.
      const path = resolve(cwd, folder, `${program}${suffix}`)
      if (program !== undefined && isProgram(path)) return path
    }
  throw new SallyportError('AGENT_MISSING', `${title} is not installed here: no "${program}" was found in PATH.`, {
    hint: 'Install it, or add its folder to PATH.',
  })
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

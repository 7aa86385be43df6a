import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { cutText, maskSecrets, SallyportError } from '@sallyport/core'
import type { ProgramServerConfig } from '../../config/config.ts'

const INSTALL_DOCKER = 'Install Docker with its MCP plugin (https://docs.docker.com/get-started/get-docker/)'

interface Explanation {
  readonly what: string
  readonly hint: string
}

/**
 * Why a server could not be started, and what to do.
 *
 * The system's error is left out as the cause: node hangs the arguments on it, and prints the value that it dislikes,
 * and both may hold secrets.
 */
export function spawnFailure(
  config: ProgramServerConfig,
  searchPath: string | undefined,
  error: unknown,
): SallyportError {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error'
  const { what, hint } = folderProblem(config) ?? explainCode(config, searchPath, code)
  // A program or a folder may be named by a variable.
  const shown = maskSecrets(`The server "${config.id}" could not be started: ${what}.`, config.fromVariables)
  return new SallyportError('UPSTREAM_UNAVAILABLE', shown, { hint })
}

/** The system reports a missing folder and a missing program alike. */
function folderProblem({ cwd }: ProgramServerConfig): Explanation | undefined {
  if (cwd === undefined || cwd.includes('\0')) return undefined
  const folder = statSync(cwd, { throwIfNoEntry: false })
  if (folder?.isDirectory()) return undefined
  return {
    what: `its working folder ${cwd} ${folder === undefined ? 'does not exist' : 'is no folder'}`,
    hint: 'Create it, or correct `cwd`.',
  }
}

function explainCode(config: ProgramServerConfig, searchPath: string | undefined, code: string): Explanation {
  switch (code) {
    case 'ENOENT':
      return notFound(config, searchPath)
    case 'EACCES':
      return {
        what: `the program ${config.command} may not be executed by this user`,
        hint: 'Make it executable (chmod +x), or name its interpreter as `command` and the file in `args`.',
      }
    case 'ERR_INVALID_ARG_VALUE':
      return {
        what: 'its command, args, env or cwd is empty or holds a NUL character',
        hint: 'Correct the entry in config.yaml.',
      }
    case 'E2BIG':
      return { what: 'its args and env are longer than the system allows', hint: 'Pass long values in a file.' }
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return {
        what: `the system has no room for another process (${code})`,
        hint: 'Stop other programs, or raise the limits on processes and open files (ulimit -u, ulimit -n).',
      }
    default:
      return { what: `the system refused to run ${config.command} (${code})`, hint: 'Try the same command in a shell.' }
  }
}

function notFound({ kind, command, cwd }: ProgramServerConfig, searchPath: string | undefined): Explanation {
  if (!command.includes('/')) {
    const where = searchPath === undefined ? 'the system’s default PATH' : `PATH (${cutText(searchPath, 500)})`
    return {
      what: `there is no program ${command} in ${where}`,
      hint: `${kind === 'docker-gateway' ? INSTALL_DOCKER : 'Install it'}, or give its full path as \`command\`.`,
    }
  }
  const file = path.resolve(cwd ?? '.', command)
  if (!existsSync(file)) return { what: `there is no program ${file}`, hint: 'Install it, or correct `command`.' }
  return {
    what: `the interpreter that the first line of ${file} names does not exist`,
    hint: 'Install that interpreter, or name another as `command` and the file in `args`.',
  }
}

import { BRIDGE_PORT, NODE_PROXY } from './drivers/bridge.ts'
import { HOME } from './drivers/bubblewrap-arguments.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What programs need to find others and to print text. None of it is private. */
const INHERITED = ['PATH', 'LANG', 'LANGUAGE', 'TERM', 'TZ', 'COLORTERM', 'NO_COLOR']
const LOCALE = /^LC_[A-Z]+$/

/** The environment inside a sandbox: a few harmless variables, the way out, and the program's own, which win. */
export function buildSandboxEnvironment(
  inherited: Environment,
  own: Environment,
  network: 'own' | 'host' = 'own',
): Record<string, string> {
  const harmless = Object.entries(inherited).filter(([name]) => INHERITED.includes(name) || LOCALE.test(name))
  const preload = `--require=${NODE_PROXY.guest}`
  const all: Environment = {
    ...Object.fromEntries(harmless),
    ...{ HOME, USER: 'user', LOGNAME: 'user', SHELL: '/bin/sh' },
    ...(network === 'own' && proxyVariables()),
    ...own,
    ...(network === 'own' && { NODE_OPTIONS: own.NODE_OPTIONS ? `${preload} ${own.NODE_OPTIONS}` : preload }),
  }
  const defined = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(defined)
}

/** Programs read these in upper or in lower case. */
function proxyVariables(): Environment {
  const proxy = `http://127.0.0.1:${BRIDGE_PORT}`
  const variables = {
    ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy },
    NO_PROXY: 'localhost,127.0.0.1,::1',
  }
  const lower = Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value])
  return { ...variables, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' }
}

import { cutText } from '@sallyport/core'

interface Failure {
  readonly says: RegExp
  readonly means: string
}

const INSTALL = 'Install it with Docker Desktop, or from https://github.com/docker/mcp-gateway'

/** What the Docker command line says before it gives up; the first that fits is the most precise. */
const FAILURES: readonly Failure[] = [
  {
    says: /permission denied while trying to connect to the docker (daemon|api)/i,
    means: 'this user may not use the Docker daemon. Add the user to the group "docker", or set DOCKER_HOST',
  },
  {
    says: /cannot connect to the docker daemon|failed to connect to the docker api|error during connect|is the docker daemon running|docker desktop is not running/i,
    means: 'the Docker daemon does not run, or cannot be reached. Start Docker, or correct DOCKER_HOST',
  },
  {
    says: /'mcp' is not a docker command|unknown command: docker mcp|unknown docker command: "?mcp/i,
    means: `this Docker has no \`mcp\` plugin. ${INSTALL}`,
  },
  {
    says: /feature needs to be enabled in docker desktop/i,
    means: 'the MCP Toolkit is switched off. Switch it on in the settings of Docker Desktop',
  },
]

/** Without the plugin, `docker` reads our options itself, and points to its own help. */
const UNKNOWN_OPTION = /unknown (?:shorthand )?flag/i
const PLUGIN_HELP = /docker mcp/i

const OUTDATED =
  'this version of the `mcp` plugin does not know one of the options. Update it, or remove that option from the entry'
const QUOTE_LENGTH = 200

/** Why the Docker MCP Gateway could not run, and what to do; nothing where its words are not known. */
export function explainDocker(said: readonly string[]): string | undefined {
  for (const { says, means } of FAILURES) {
    const line = said.find((text) => says.test(text))
    if (line !== undefined) return withQuote(means, line)
  }
  const refusal = said.find((text) => UNKNOWN_OPTION.test(text))
  if (refusal === undefined) return undefined
  const isPlugin = said.some((text) => PLUGIN_HELP.test(text))
  return withQuote(isPlugin ? OUTDATED : `this Docker has no \`mcp\` plugin. ${INSTALL}`, refusal)
}

const withQuote = (means: string, line: string): string => `${means} (it said: ${cutText(line.trim(), QUOTE_LENGTH)})`

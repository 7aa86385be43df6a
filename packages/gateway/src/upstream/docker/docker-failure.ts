import { cutText } from '@sallyport/core'

interface Failure {
  readonly pattern: RegExp
  readonly explanation: string
}

const INSTALL = 'Install it with Docker Desktop, or from https://github.com/docker/mcp-gateway'

/** Error output of the Docker command line. The first match is the most precise one. */
const FAILURES: readonly Failure[] = [
  {
    pattern: /permission denied while trying to connect to the docker (daemon|api)/i,
    explanation: 'this user may not use the Docker daemon. Add the user to the group "docker", or set DOCKER_HOST',
  },
  {
    pattern:
      /cannot connect to the docker daemon|failed to connect to the docker api|error during connect|is the docker daemon running|docker desktop is not running/i,
    explanation: 'the Docker daemon does not run, or cannot be reached. Start Docker, or correct DOCKER_HOST',
  },
  {
    pattern: /'mcp' is not a docker command|unknown command: docker mcp|unknown docker command: "?mcp/i,
    explanation: `this Docker has no \`mcp\` plugin. ${INSTALL}`,
  },
  {
    pattern: /feature needs to be enabled in docker desktop/i,
    explanation: 'the MCP Toolkit is switched off. Switch it on in the settings of Docker Desktop',
  },
]

/** Without the plugin, `docker` reads our options itself and refers to its own help. */
const UNKNOWN_OPTION = /unknown (?:shorthand )?flag/i
const PLUGIN_HELP = /docker mcp/i

const OUTDATED_PLUGIN =
  'this version of the `mcp` plugin does not know one of the options. Update it, or remove that option from the entry'
const QUOTE_LENGTH = 200

/** Why the Docker MCP Gateway could not run, and what to do; `undefined` if its error output is not known. */
export function explainDockerFailure(lines: readonly string[]): string | undefined {
  for (const { pattern, explanation } of FAILURES) {
    const line = lines.find((text) => pattern.test(text))
    if (line !== undefined) return withQuote(explanation, line)
  }
  const refusal = lines.find((text) => UNKNOWN_OPTION.test(text))
  if (refusal === undefined) return undefined
  const isPlugin = lines.some((text) => PLUGIN_HELP.test(text))
  return withQuote(isPlugin ? OUTDATED_PLUGIN : `this Docker has no \`mcp\` plugin. ${INSTALL}`, refusal)
}

const withQuote = (explanation: string, line: string): string =>
  `${explanation} (it said: ${cutText(line.trim(), QUOTE_LENGTH)})`

import { readFile } from 'node:fs/promises'
import { ERRORS, toSnakeCase } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { loadConfig } from './home/home.test-kit.ts'
import { sectionsSchema, serverSchema } from './reading/config-schema.ts'
import { KNOWN_VARIABLES } from './reading/environment.ts'
import { policySchema } from './sections/policy-schema.ts'
import { dockerGatewaySchema } from './servers/docker-gateway-schema.ts'
import { DOCKER_VARIABLES } from './servers/docker-variables.ts'
import { COMMON_KEYS } from './servers/server-keys.ts'

const readPage = (name: string): Promise<string> =>
  readFile(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')

const page = await readPage('configuration.md')
const dockerPage = await readPage('docker-gateway.md')

describe('docs/configuration.md', () => {
  it('explains every key and every variable', () => {
    const {
      gateway,
      auth,
      audit,
      governance,
      telemetry,
      isolation,
      agents,
      context,
      labels,
      sandbox,
      $schema: _,
      ...others
    } = sectionsSchema.shape
    const { defaults, escalation, ...governing } = governance.unwrap().shape
    const shapes = [
      others,
      serverSchema.shape,
      serverSchema.shape.timeouts.unwrap().shape,
      gateway.unwrap().shape,
      auth.unwrap().shape.jwt.unwrap().shape,
      audit.unwrap().shape,
      audit.unwrap().shape.retention.unwrap().shape,
      telemetry.unwrap().shape,
      isolation.unwrap().shape,
      isolation.unwrap().shape.model.unwrap().shape,
      agents.unwrap().shape['mcp-executor'].unwrap().shape,
      context.unwrap().shape,
      labels.unwrap().shape,
      sandbox.unwrap().shape.proxied.unwrap().shape,
      sandbox.unwrap().shape.limits.unwrap().shape,
      { isolation, agents, context, labels, sandbox },
      { defaults, escalation, ...governing },
      defaults.unwrap().shape.low.unwrap().shape,
      escalation.unwrap().shape,
      governing.riskTokens.unwrap().shape,
      governing.approvalHook.unwrap().shape,
      policySchema.shape,
    ]
    const keys = shapes.flatMap((shape) => Object.keys(shape))
    const missing = keys.filter((key) => !new RegExp(`\`([a-z_]+\\.)?(${key}|${toSnakeCase(key)})\``).test(page))
    expect(missing).toEqual([])
    expect(KNOWN_VARIABLES.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('has only examples that load without a warning', async () => {
    const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml)
    expect(examples.length).toBeGreaterThan(1)
    for (const yaml of examples) expect((await loadConfig(yaml, { ISSUES_TOKEN: 'x' })).warnings).toEqual([])
  })

  it('refers to another page for the Docker MCP Gateway, which explains its keys in the same way', async () => {
    const own = Object.keys(dockerGatewaySchema.shape).filter((key) => !Object.hasOwn(COMMON_KEYS, key))
    const pages = `${dockerPage}\n${page}`
    expect(own.filter((key) => !new RegExp(`\`(${key}|${toSnakeCase(key)})\``).test(pages))).toEqual([])
    expect(DOCKER_VARIABLES.filter((name) => !dockerPage.includes(`| \`${name}\` |`))).toEqual([])
    const examples = [...dockerPage.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml)
    expect(examples.length).toBeGreaterThan(1)
    for (const yaml of examples) expect((await loadConfig(yaml)).warnings).toEqual([])
  })

  it('mentions only errors that are in the error table', () => {
    const named = [...page.matchAll(/^\| `([A-Z_]+)` \| /gm)].map(([, code = '']) => code)
    expect(named.filter((code) => !/^(SALLYPORT|MCP_GATEWAY)_/.test(code) && !Object.hasOwn(ERRORS, code))).toEqual([])
  })
})

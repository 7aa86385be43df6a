// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { describe, expect, it } from 'vitest'
import { fillTemplate } from '../../isolation/mcp-executor.ts'
import { loadConfig, loadProblems } from '../home/home.test-kit.ts'
import { describeIssue } from '../reading/config-issue.ts'

const KEY = { MODEL_KEY: 'a key of the test' }

describe('the isolation section', () => {
  it('by default uses bounded results and no model', async () => {
    const { settings } = await loadConfig('mcp_servers: {}')
    expect(settings.isolation).toMatchObject({ fallback: 'bounded', budget: 5_000, engine: 'auto', maxTurns: 3 })
    expect(settings.isolation).toMatchObject({ model: undefined, maxTime: 120_000, maxTokens: 2_000 })
    expect(settings.executor).toEqual({ enabled: true })
    expect(settings.context).toMatchObject({ cap: 'auto', presets: { sql_query: { threshold: 2_000 } } })
  })

  it('sets how isolated calls run, and with which model', async () => {
    const { settings, warnings } = await loadConfig(
      'isolation: {strategy: agent, fallback: error, max_time: 30, model: {provider: openai-compatible, name: m, base_url: "http://127.0.0.1:1/v1", api_key: "${MODEL_KEY}"}}',
      KEY,
    )
    expect(warnings).toEqual([])
    expect(settings.isolation).toMatchObject({ strategy: 'agent', fallback: 'error', maxTime: 30_000 })
    expect(settings.isolation.model).toEqual({
      provider: 'openai-compatible',
      name: 'm',
      baseUrl: 'http://127.0.0.1:1/v1',
      apiKey: KEY.MODEL_KEY,
    })
  })

  it.each([
    ['isolation: {strategy: bound}', 'expected one of "exact", "bounded", "extract", "agent"; got "bound"'],
    ['isolation: {model: {name: x}}', 'expected "provider"'],
    ['isolation: {model: {provider: antropic}}', 'Did you mean "anthropic"?'],
    ['isolation: {model: {provider: openai-compatible, name: x}}', 'got no "base_url"'],
    ['isolation: {model: {provider: openai, api_key_file: key.txt}}', 'expected an absolute path'],
    ['isolation: {model: {provider: openai, api_key: "${MODEL_KEY}", api_key_file: /key}}', 'got both'],
    ['agents: {mcp-executor: {query: "run $${tool}"}}', 'got ${tool}'],
    ['agents: {mcp-executor: {query: "run {{toolname}}"}}', 'got {{toolname}}. Did you mean "toolName"?'],
    ['agents: {mcp-executor: {system_prompt: "run {{tool}}"}}', 'got {{tool}}'],
    ['isolation: {budget: 10}', 'isolation.budget: expected'],
    ['isolation: {engine: provider}', 'expected "model"'],
    ['isolation: {max_turns: 0}', 'isolation.max_turns'],
    ['context: {cap: 10}', 'context.cap'],
    ['context: {presets: {mine: {treshold: 9}}}', 'unknown key "treshold"'],
    ['context: {presets: {mine: {threshold: 9}}}', 'from 400 to'],
    ['mcp_servers: {a: {command: x, result: sql_querry}}', 'mcp_servers.a.result: There is no preset "sql_querry"'],
    ['mcp_servers: {a: {command: x, result: sql_querry}}', 'Did you mean "sql_query"?'],
    ['mcp_servers: {a: {command: x, isolated: maybe}}', 'mcp_servers.a.isolated: expected true or false; got "maybe"'],
    ['mcp_servers: {a: {command: x, isolatedTools: query}}', 'mcp_servers.a.isolatedTools: expected a list'],
    ['mcp_servers: {a: {command: x, isolated_tools: [1]}}', 'mcp_servers.a.isolated_tools[0]'],
  ])('reports the error in %s', async (yaml, problem) => {
    expect((await loadProblems(yaml)).join()).toContain(problem)
  })

  it('warns of an API key in the file, without showing it', async () => {
    const { warnings } = await loadConfig('isolation: {model: {provider: openai, api_key: "made up for the test"}}')
    expect(warnings.map(describeIssue).join()).toContain('this API key is written in the file')
    expect(warnings.map(describeIssue).join()).not.toContain('made up')
  })

  it('overrides settings of the built-in sub-agent', async () => {
    const { settings } = await loadConfig(
      'agents: {mcp-executor: {enabled: false, max_turns: 5, system_prompt: x, query: "run $${toolName}"}}',
    )
    expect(settings.executor).toEqual({ enabled: false, maxTurns: 5, systemPrompt: 'x', query: 'run ${toolName}' })
  })

  it.each(['{{toolName}}', '{{ toolName }}', '${toolName}', '$${toolName}'])(
    'may name the tool as %s, whatever the environment has',
    async (written) => {
      const yaml = `agents: {mcp-executor: {system_prompt: 'run ${written}', query: 'run ${written}'}}`
      const { settings, warnings } = await loadConfig(yaml, { toolName: 'of the environment' })
      expect(warnings).toEqual([])
      const { systemPrompt = '', query } = settings.executor
      expect(query).toBe(systemPrompt)
      expect(fillTemplate(systemPrompt, { toolName: 'flood' })).toBe('run flood')
    },
  )

  it('may also contain environment variables', async () => {
    const { settings } = await loadConfig('agents: {mcp-executor: {query: "${WHO}: {{toolName}}"}}', { WHO: 'ops' })
    expect(settings.executor.query).toBe('ops: {{toolName}}')
  })
})

describe('what reaches a context', () => {
  it('can have no limit, another retention, and custom presets', async () => {
    const { settings } = await loadConfig(
      'context: {cap: off, presets: {mine: {threshold: 1000}}, retention: {age: 1d, size: 2MB}}\nmcp_servers: {a: {command: x, isolatedTools: [q], result: mine}}',
    )
    expect(settings.context).toEqual({
      cap: undefined,
      presets: expect.objectContaining({ mine: expect.objectContaining({ threshold: 1_000 }) }),
      retention: { age: 86_400_000, bytes: 2 * 1024 ** 2 },
    })
    expect(settings.servers[0]).toMatchObject({ isolated: false, isolatedTools: ['q'], result: 'mine' })
  })
})

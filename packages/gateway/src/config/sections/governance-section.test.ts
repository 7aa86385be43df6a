// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { RISK_TOKENS } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { DEFAULT_GOVERNANCE } from '../defaults.ts'
import { loadConfig, loadProblems } from '../home/home.test-kit.ts'
import { describeIssue } from '../reading/config-issue.ts'

const LONG = 'a long enough secret for HMAC-SHA256'

const governance = async (yaml: string, environment = {}) =>
  (await loadConfig(`governance: ${yaml}`, environment)).settings.governance

const warningsOf = async (yaml: string): Promise<readonly string[]> =>
  (await loadConfig(yaml)).warnings.map(describeIssue)

describe(`${promise('GOV-7')} the governance section`, () => {
  it('uses the defaults for everything that it does not set', async () => {
    expect(await governance('{}')).toEqual(DEFAULT_GOVERNANCE)
    expect((await loadConfig('')).settings.governance).toEqual(DEFAULT_GOVERNANCE)
  })

  it('sets the defaults of a risk level, each field independently', async () => {
    const { enforce, defaults, approvalTimeout } = await governance(
      '{enforce: false, approval_timeout: 2m, defaults: {low: {allowed_in_modes: [normal]}, high: {requiresApproval: false, allowedInModes: []}}}',
    )
    expect([enforce, approvalTimeout]).toEqual([false, 120_000])
    expect(defaults).toEqual({
      low: { allowedInModes: ['NORMAL'], requiresApproval: false },
      medium: { allowedInModes: ['NORMAL', 'DEGRADED'], requiresApproval: false },
      high: { allowedInModes: [], requiresApproval: false },
    })
  })

  it('adds words to the built-in lists, and removes some', async () => {
    const { riskTokens } = await governance(
      '{risk_tokens: {high: [Frobnicate, "!run"], low: [ponder, run], nouns: [ponder]}}',
    )
    expect(riskTokens.high).toEqual([...RISK_TOKENS.high.filter((word) => word !== 'run'), 'frobnicate'])
    expect(riskTokens.low).toEqual([...RISK_TOKENS.low, 'ponder', 'run'])
    expect(riskTokens.nouns).toEqual([...RISK_TOKENS.nouns, 'ponder'])
  })

  it('warns of words that change nothing', async () => {
    expect(await warningsOf('governance:\n  risk_tokens:\n    high: ["!delte"]\n    low: [delete]')).toEqual([
      'config.yaml:3:12 governance.risk_tokens.high[0]: this word is not in the list, so it cannot be removed. Did you mean "delete"?',
      'config.yaml:4:11 governance.risk_tokens.low[0]: "delete" is also in the list "high", which takes precedence. Write "!delete" there.',
    ])
  })

  it('has patterns with the fields of a tool, and knows their location', async () => {
    const { patterns } = await governance(
      '\n  patterns:\n    "mcp__*__create_*": {risk_level: HIGH, allowedInModes: [alert]}\n    "*_sql": {arguments: {q: {max_length: 5}}, note: "${NOTE}"}',
      { NOTE: 'as agreed' },
    )
    expect(patterns).toEqual([
      {
        tool: 'mcp__*__create_*',
        fields: { riskLevel: 'high', allowedInModes: ['ALERT'] },
        location: { file: expect.stringMatching(/config\.yaml$/), line: 3 },
      },
      {
        tool: '*_sql',
        fields: { arguments: { fields: { q: { maxLength: 5 } }, denyPatterns: [] }, note: 'as agreed' },
        location: { file: expect.stringMatching(/config\.yaml$/), line: 4 },
      },
    ])
  })

  it('reads the rules for automatic approval', async () => {
    const { autoApprove } = await governance(
      '{auto_approve: [{tool: "mcp__files__*", agent: codex, profile: reviewer, paths: ["/tmp/**"], arguments: {mode: {const: dry}}}, {tool: read}]}',
    )
    expect(autoApprove).toMatchObject([
      {
        tool: 'mcp__files__*',
        agent: 'codex',
        profile: 'reviewer',
        paths: ['/tmp/**'],
        arguments: { fields: { mode: { const: 'dry' } }, denyPatterns: [] },
        location: { line: 1 },
      },
      { tool: 'read', agent: undefined, profile: undefined, paths: undefined, arguments: undefined },
    ])
  })

  it('sends approval requests to a hook', async () => {
    const hook = '{approval_hook: {url: "https://h.example/a", secret: "${S}"}}'
    const { settings, warnings } = await loadConfig(`governance: ${hook}`, { S: LONG })
    expect(settings.governance.approvalHook).toEqual({ url: 'https://h.example/a', secret: LONG })
    expect(warnings).toEqual([])
    const local = await governance('{approval_hook: {url: "http://127.0.0.1:9/a", secret: "${S}"}}', { S: LONG })
    expect(local.approvalHook?.url).toBe('http://127.0.0.1:9/a')
  })

  it('refuses a guessable secret of the hook, warns of one in the file, and shows neither', async () => {
    const hook = (secret: string) => `governance: {approval_hook: {url: "https://h", secret: "${secret}"}}`
    const refused = (await loadProblems(hook('changeme'))).join()
    expect(refused).toContain('it has 8 bytes; expected at least 32. Make one with `openssl rand -hex 32`')
    expect(refused).not.toContain('changeme')
    const output = (await warningsOf(hook(LONG))).join()
    expect(output).toContain('Write "${HOOK_SECRET}"')
    expect(output).not.toContain(LONG)
  })

  it('sets the triggers of escalation, each field independently, or switches them off', async () => {
    const { escalation } = await governance(
      '{escalation: {policy_violations: {count: 3, to: lockdown}, tool_errors: false, upstreamFlapping: {window: 1m}, audit_failing: {lasting: 0}}}',
    )
    expect(escalation).toEqual({
      policyViolations: { count: 3, window: 600_000, to: 'LOCKDOWN' },
      toolErrors: undefined,
      upstreamFlapping: { count: 10, window: 60_000, to: 'DEGRADED' },
      auditFailing: { lasting: 0, to: 'DEGRADED' },
    })
    expect((await governance('{escalation: {tool_errors: {rate: 1, least: 5}}}')).escalation.toolErrors).toEqual({
      rate: 1,
      least: 5,
      window: 600_000,
      to: 'DEGRADED',
    })
  })

  it.each([
    ['enforce: maybe', '1:14 governance.enforce: expected true or false; got "maybe".'],
    [
      'approval_timeout: 300',
      '1:14 governance.approval_timeout: expected a duration such as "30s", "500ms" or "10m", with its unit, at least 1.0 s, at most 24 days; got 300.',
    ],
    [
      'defaults: {low: {allowed_in_modes: [NORML]}}',
      '1:50 governance.defaults.low.allowed_in_modes[0]: expected one of NORMAL, ALERT, DEGRADED, LOCKDOWN, RECOVERY; got "NORML". Did you mean "NORMAL"?',
    ],
    [
      'risk_tokens: {high: [delete_all]}',
      '1:35 governance.risk_tokens.high[0]: expected one word, such as "frobnicate", or "!run" to remove one; got "delete_all".',
    ],
    [
      'patterns: {"mcp__*": {risk_level: hihg}}',
      '1:36 governance.patterns["mcp__*"].risk_level: expected one of low, medium, high; got "hihg". Did you mean "high"?',
    ],
    [
      'patterns: {"mcp__*": {risk_level: "${V}"}}',
      '1:36 governance.patterns["mcp__*"].risk_level: expected one of low, medium, high; got something else from a variable.',
    ],
    [
      'patterns: {"mcp__*": {risk_level: "${UNSET}"}}',
      '1:36 governance.patterns["mcp__*"].risk_level: the variable UNSET is not set.',
    ],
    [
      'patterns: {"mcp__*": {allowed_in_modes: }}',
      '1:36 governance.patterns["mcp__*"].allowed_in_modes: expected a list of modes, such as [NORMAL, ALERT]; got nothing.',
    ],
    [
      'patterns: {"mcp__*": high}',
      '1:25 governance.patterns["mcp__*"]: expected a mapping such as {risk_level: high}; got "high".',
    ],
    [
      'patterns: {"mcp__*": {pin: x}}',
      '1:25 governance.patterns["mcp__*"]: "pin" can only be set for one tool. Write it in tools.yaml.',
    ],
    [
      'patterns: {"mcp__*": {arguments: {a: {patern: x}}}}',
      '1:52 governance.patterns["mcp__*"].arguments.a.patern: this key is not known. Did you mean "pattern"?',
    ],
    [
      'auto_approve: [{agent: x}]',
      '1:29 governance.auto_approve[0]: expected "tool", a name or a pattern such as "mcp__files__read_*"; got none.',
    ],
    [
      'auto_approve: [{tool: x, agnet: y}]',
      '1:39 governance.auto_approve[0].agnet: this key is not known. Did you mean "agent"?',
    ],
    [
      'auto_approve: [{tool: x, arguments: {a: {mx: 1}}}]',
      '1:55 governance.auto_approve[0].arguments.a.mx: this key is not known. Did you mean "max"?',
    ],
    [
      'auto_approve: [{tool: x, arguments: {a: {max: "${V}"}}}]',
      '1:55 governance.auto_approve[0].arguments.a.max: expected a number; got something else from a variable.',
    ],
    [
      'auto_approve: {tool: x}',
      '1:14 governance.auto_approve: expected a list of rules such as {tool: "mcp__files__read_*"}; got a mapping.',
    ],
    [
      'approval_hook: {url: "https://h"}',
      '1:14 governance.approval_hook: expected "url" and "secret"; got no "secret".',
    ],
    [
      'approval_hook: {url: "http://h.example", secret: "${V}"}',
      '1:30 governance.approval_hook.url: expected an https address: approval requests contain the arguments of calls.',
    ],
    [
      'approval_hook: {url: "ftp://h", secret: "${V}"}',
      '1:30 governance.approval_hook.url: expected an address such as "https://host/mcp"; got another scheme than http(s).',
    ],
    [
      'escalation: {tool_errors: {rate: 50}}',
      '1:41 governance.escalation.tool_errors.rate: expected a number above 0, and at most 1; got 50.',
    ],
    [
      'escalation: {policy_violations: {to: NORMAL}}',
      '1:47 governance.escalation.policy_violations.to: expected one of ALERT, DEGRADED, LOCKDOWN; got "NORMAL".',
    ],
    [
      'escalation: {audit_failing: true}',
      '1:27 governance.escalation.audit_failing: expected a mapping such as {lasting: 30s, to: DEGRADED}, or false; got true.',
    ],
  ])('is refused for {%s}', async (entry, mistake) => {
    expect(await loadProblems(`governance: {${entry}}`, { V: LONG })).toEqual([`config.yaml:${mistake}`])
  })

  it.each([
    ['enforce: false', '1:14 governance.enforce: rules are only watched: no call is refused or waits for approval.'],
    ['enfroce: true', '1:14 governance.enfroce: this key is not known and is ignored. Did you mean "enforce"?'],
    [
      'escalation: {tool_errors: {rte: 0.1}}',
      '1:41 governance.escalation.tool_errors.rte: this key is not known and is ignored. Did you mean "rate"?',
    ],
    [
      'patterns: {"mcp__*": {risk_levl: low}}',
      '1:36 governance.patterns["mcp__*"].risk_levl: this key is not known. Did you mean "risk_level"? Calls are refused until it is corrected.',
    ],
    [
      'patterns: {"create_*": {risk_level: high}}',
      '1:25 governance.patterns["create_*"]: no tool name can match this pattern: all begin with "mcp__".',
    ],
    ['auto_approve: [{tool: "*"}]', '1:29 governance.auto_approve[0]: this approves every call of every tool.'],
  ])('warns of {%s}', async (entry, warning) => {
    expect(await warningsOf(`governance: {${entry}}`)).toEqual([`config.yaml:${warning}`])
  })
})

describe('the audit section', () => {
  it('sets how much is stored, and for how long', async () => {
    const { settings } = await loadConfig('audit: {arguments: none, retention: {age: 90d, size: 2TB}}')
    expect(settings.audit).toEqual({
      durability: 'process',
      required: true,
      arguments: 'none',
      retention: { age: 90 * 86_400_000, bytes: 2 * 1024 ** 4 },
    })
    expect((await loadConfig('audit: {retention: {size: 10MB}}')).settings.audit.retention.age).toBe(30 * 86_400_000)
  })

  it.each([
    ['arguments: all', 'expected one of "none", "shape", "redacted", "full"; got "all"'],
    ['retention: {age: 30}', 'with its unit'],
    ['retention: {age: 1s}', 'at least 1 min'],
    ['retention: {size: 1KB}', 'from 1MB to 100TB'],
    ['retention: forever', 'a mapping such as {age: 30d, size: 1GB}'],
  ])('is refused for {%s}', async (entry, problem) => {
    expect((await loadProblems(`audit: {${entry}}`)).join('\n')).toContain(problem)
  })
})

describe('the telemetry section', () => {
  it('is off except for metrics, unless an address is set', async () => {
    expect((await loadConfig('')).settings.telemetry).toEqual({ otlp: undefined, prometheus: true })
    expect((await loadConfig('telemetry: {prometheus: false}')).settings.telemetry.prometheus).toBe(false)
  })

  it('accepts an address, or an address with headers', async () => {
    const { settings } = await loadConfig('telemetry: {otlp: "http://collector:4318"}')
    expect(settings.telemetry.otlp).toEqual({ endpoint: 'http://collector:4318', headers: {} })
    const long = await loadConfig('telemetry: {otlp: {endpoint: "https://c", headers: {X-Key: "${K}"}}}', { K: 'key' })
    expect(long.settings.telemetry.otlp).toEqual({ endpoint: 'https://c', headers: { 'X-Key': 'key' } })
  })

  it.each([
    ['otlp: collector', 'got something that is not a valid URL'],
    ['otlp: "http://u:p@c"', 'without a user name and password'],
    ['otlp: {headers: {A: b}}', 'expected "endpoint"'],
    ['otlp: {endpoint: "http://c", headers: {"A B": c}}', 'expected a header name'],
    ['otlp: 5', 'or a mapping such as {endpoint: …, headers: {…}}'],
    ['prometheus: 9090', 'expected true or false'],
  ])('is refused for {%s}', async (entry, problem) => {
    expect((await loadProblems(`telemetry: {${entry}}`)).join('\n')).toContain(problem)
  })

  it('does not show an address that may contain a secret', async () => {
    expect((await loadProblems('telemetry: {otlp: {endpoint: [hunter2]}}')).join()).not.toContain('hunter2')
  })
})

describe('a server', () => {
  it('is trusted about its own tools only if its entry says so', async () => {
    const { settings } = await loadConfig(
      'mcp_servers: {a: {command: x, trusted: true}, b: {command: x}, c: {command: x, trust: true}}',
    )
    expect(settings.servers.map(({ trusted }) => trusted)).toEqual([true, false, false])
    expect((await loadProblems('mcp_servers: {a: {command: x, trusted: yes}}')).join()).toContain(
      'expected true or false',
    )
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLocalEverything, type EverythingServer, openRemoteEverything } from '../harness/everything-server.ts'
import { eventually } from '../harness/processes.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { ANSWERS, SDK_CLIENTS, type SdkClient } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'

type Json = Record<string, any>

const SERVERS = ['local', 'remote'] as const
/** A server may also tell of its lists at any time, between these. */
const OF_A_CALL = new Set(['notifications/progress', 'result'])
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const textResource = (id: number): string => `demo://resource/dynamic/text/${id}`

let servers: Record<(typeof SERVERS)[number], EverythingServer>
let gateway: RunningGateway
/** Both servers have the same resources, of which the first one is the owner: here that is the remote one. */
let remoteGateway: RunningGateway

beforeAll(async () => {
  servers = { local: createLocalEverything(), remote: await openRemoteEverything() }
  const { local, remote } = servers
  gateway = await runGateway({ config: { mcp_servers: { local: local.entry, remote: remote.entry } } })
  remoteGateway = await runGateway({ config: { mcp_servers: { remote: remote.entry } } })
})

afterAll(async () => {
  await gateway?.stop()
  await remoteGateway?.stop()
  for (const server of Object.values(servers ?? {})) await server.close()
})

const textsOf = (result: Json): string => result.content.map(({ text = '' }: Json) => text).join('\n')
const notificationsOf = ({ received }: SdkClient, method: string): readonly Json[] =>
  received.filter((message) => message.method === method).map(({ params }) => params)
const isTold = (client: SdkClient, method: string, text: string): Promise<unknown> =>
  eventually(
    () => notificationsOf(client, method).map((params) => JSON.stringify(params)),
    (all) => all.some((params) => params.includes(text)),
  )
/** The tools that need a client which can be asked are there, and its roots are known. */
async function isReady(client: SdkClient, names: readonly string[]): Promise<void> {
  await eventually(
    () => client.plain.listTools(),
    ({ tools }) => names.every((server) => tools.some(({ name }) => name === `${server}_get_roots_list`)),
  )
  for (const server of names) await client.call(`${server}_get_roots_list`)
}

describe.each(Object.entries(SDK_CLIENTS))(`${promise('GW-16')} ${promise('GW-17')} %s`, (_way, open) => {
  let client: SdkClient

  beforeAll(async () => {
    client = await open(gateway)
    await isReady(client, SERVERS)
  })
  afterAll(() => client?.close())

  describe.each(SERVERS)('at the %s server', (server) => {
    it('gets all progress in order, before the result', async () => {
      const before = client.received.length
      const args = { duration: 0.2, steps: 10 }
      await client.call(`${server}_trigger_long_running_operation`, args, { onprogress: () => {} })
      const came = client.received.slice(before).filter(({ method = 'result' }) => OF_A_CALL.has(method))
      expect(came.map(({ params, result }) => params?.progress ?? textsOf(result).slice(0, 12))).toEqual([
        ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        'Long running',
      ])
    })

    it('cancels a call, and the server is notified', async () => {
      const abort = new AbortController()
      const cancellations = (): number => servers[server].receivedText().split('"notifications/cancelled"').length - 1
      const before = cancellations()
      const call = client.call(
        `${server}_trigger_long_running_operation`,
        { duration: 3, steps: 60 },
        { signal: abort.signal, onprogress: () => abort.abort('changed my mind') },
      )
      await expect(call).rejects.toThrow()
      await eventually(cancellations, (count) => count > before)
    })

    it('answers an elicitation', async () => {
      const result = await client.call(`${server}_trigger_elicitation_request`)
      expect(textsOf(result)).toContain('- Name: Ada\n- Agreed to terms: true\n- Favorite Integer: 7')
      const question = client.asked.findLast(({ method }) => method === 'elicitation/create')
      expect(question?.params.requestedSchema.properties.legacyTitledEnum.enumNames).toContain('Reptiles')
    })

    it('answers a sampling request', async () => {
      const result = await client.call(`${server}_trigger_sampling_request`, { prompt: 'why', maxTokens: 5 })
      expect(textsOf(result)).toContain(ANSWERS['sampling/createMessage'].content.text)
      const { params } = client.asked.findLast(({ method }) => method === 'sampling/createMessage') ?? {}
      expect(params).toMatchObject({ maxTokens: 5, systemPrompt: 'You are a helpful test server.' })
    })

    it('lists its roots', async () => {
      expect(textsOf(await client.call(`${server}_get_roots_list`))).toContain('URI: file:///somewhere')
    })

    it('gets images, links, embedded resources, annotations and structured content as they are', async () => {
      const image = await client.call(`${server}_get_tiny_image`)
      const { data, mimeType } = image.content.find(({ type }: Json) => type === 'image')
      expect(mimeType).toBe('image/png')
      expect(Buffer.from(data, 'base64').subarray(0, PNG.length)).toEqual(PNG)
      const links = await client.call(`${server}_get_resource_links`, { count: 2 })
      const [{ uri }] = links.content.filter(({ type }: Json) => type === 'resource_link')
      expect((await client.plain.readResource({ uri })).contents[0]?.uri).toBe(uri)
      const reference = await client.call(`${server}_get_resource_reference`, { resourceType: 'Text', resourceId: 1 })
      expect(reference.content[1].resource.uri).toBe(textResource(1))
      const note = await client.call(`${server}_get_annotated_message`, { messageType: 'error' })
      expect(note.content[0].annotations).toEqual({ priority: 1, audience: ['user', 'assistant'] })
      const weather = await client.call(`${server}_get_structured_content`, { location: 'Chicago' })
      expect(weather.structuredContent).toEqual({ temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 })
    })

    it('gets prompts, and completions for their arguments', async () => {
      const prompt = await client.plain.getPrompt({
        name: `${server}_resource_prompt`,
        arguments: { resourceType: 'Text', resourceId: '3' },
      })
      expect(prompt.messages[1].content.resource.uri).toBe(textResource(3))
      const { completion } = await client.plain.complete({
        ref: { type: 'ref/prompt', name: `${server}_completable_prompt` },
        argument: { name: 'name', value: 'A' },
        context: { arguments: { department: 'Engineering' } },
      })
      expect(completion.values).toEqual(['Alice'])
    })
  })

  it('gets completions for a template of resources', async () => {
    const { completion } = await client.plain.complete({
      ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      argument: { name: 'resourceId', value: '12' },
    })
    expect(completion.values).toEqual(['12'])
  })

  it('gets updates of the resources that it subscribed to', async () => {
    const stop = await client.subscribe(textResource(4))
    await client.call('local_toggle_subscriber_updates')
    await isTold(client, 'notifications/resources/updated', textResource(4))
    await client.call('local_toggle_subscriber_updates')
    await stop()
  })

  it('gets log messages from the level that it asked for', async () => {
    const logs = 'notifications/message'
    if (client.era === 'modern') {
      // Each second call ends what the first one began.
      for (const logLevel of ['', '', 'debug', '']) {
        const before = notificationsOf(client, logs).length
        await client.call('local_toggle_simulated_logging', {}, { logLevel })
        expect(notificationsOf(client, logs).length - before).toBe(logLevel === '' ? 0 : 1)
      }
      return
    }
    await client.plain.setLoggingLevel('error')
    await (await client.subscribe(textResource(5)))()
    await client.plain.setLoggingLevel('info')
    await (await client.subscribe(textResource(6)))()
    await isTold(client, logs, textResource(6))
    expect(JSON.stringify(notificationsOf(client, logs))).not.toContain(textResource(5))
  })
})

it.each(Object.entries(SDK_CLIENTS))(
  `${promise('GW-17')} %s gets updates of resources of a remote server`,
  async (_way, open) => {
    const client = await open(remoteGateway)
    await isReady(client, ['remote'])
    const stop = await client.subscribe(textResource(7))
    await client.call('remote_toggle_subscriber_updates')
    await isTold(client, 'notifications/resources/updated', textResource(7))
    await client.call('remote_toggle_subscriber_updates')
    await stop()
    await client.close()
  },
)

it(`${promise('GW-17')} a task is created, followed to its end, and fetched by its creator`, async () => {
  const client = await (SDK_CLIENTS['the v1 SDK over HTTP'] as (typeof SDK_CLIENTS)[string])(gateway)
  await isReady(client, SERVERS)
  const research = async (server: string): Promise<readonly Json[]> => {
    const steps: Json[] = []
    const params = { name: `${server}_simulate_research_query`, arguments: { topic: `moss at the ${server} server` } }
    for await (const step of client.plain.experimental.tasks.callToolStream(params)) steps.push(step)
    return steps
  }
  for (const [index, steps] of (await Promise.all(SERVERS.map(research))).entries()) {
    expect(steps[0]).toMatchObject({ type: 'taskCreated', task: { status: 'working' } })
    expect(steps.at(-2)).toMatchObject({ type: 'taskStatus', task: { status: 'completed' } })
    expect(textsOf(steps.at(-1)?.result)).toContain(`moss at the ${SERVERS[index]} server`)
  }
  // Nobody lists tasks: what is not served is not declared either.
  expect(client.plain.getServerCapabilities().tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } })
  await client.close()
})

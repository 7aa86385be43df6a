/**
 * What is done with every server: each feature returns what the client saw. It throws if the server does not do it.
 *
 * @typedef {import('./client-process.mjs').ClientProcess} ClientProcess
 */

const textOf = ({ content }) => content?.[0]?.text
const eventsOf = (client, event) => client.events.filter((one) => one.event === event).map(({ params }) => params)
const withName = (a, b) => (a.name < b.name ? -1 : 1)

function must(condition, what, seen) {
  if (!condition) throw new Error(`${what}: ${JSON.stringify(seen)?.slice(0, 300)}`)
}

/** Asks until the answer is right: the runner's timeout ends it. */
async function until(ask, isRight) {
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function readText(client, tool, args, expected) {
  const result = await client.call(tool, args)
  must(textOf(result) === expected, `${tool} returned another text`, result)
  return result
}

async function readQuestion(client, { tool, method, expected }) {
  const result = await client.call(tool)
  must(textOf(result) === expected, `${tool} returned another text`, result)
  const questions = client.events.filter((one) => one.event === 'asked' && one.method === method)
  must(questions.length === 1, 'the client was not asked once', questions)
  return { result, asked: questions.map(({ params }) => params) }
}

/** In this order: what changes the server's lists comes last. */
export const FEATURES = {
  'list tools': async (client) => {
    const { tools } = await client.ask('listTools')
    const own = client.own(tools).sort(withName)
    must(
      own.length >= 14,
      'tools are missing',
      own.map(({ name }) => name),
    )
    return own
  },
  text: (client) => readText(client, 'echo', { text: 'hi' }, 'hi'),
  structured: async (client) => {
    const sum = await client.call('add', { a: 2, b: 3 })
    const weather = await client.call('weather', { city: 'Oslo' })
    must(weather.structuredContent?.city === 'Oslo', 'there is no structured content', weather)
    return { sum, weather }
  },
  image: async (client) => {
    const result = await client.call('picture')
    must(result.content?.[0]?.type === 'image', 'there is no image', result)
    return result
  },
  'tool error': async (client) => {
    const result = await client.call('fail', { reason: 'on purpose' })
    must(result.isError === true, 'there is no error', result)
    return result
  },
  progress: async (client) => {
    const result = await client.call('count', { steps: 3 }, { progress: true })
    await client.waitFor('progress', 3)
    return { result, progress: eventsOf(client, 'progress') }
  },
  logging: async (client) => {
    // Python's FastMCP knows no levels, and logs all the same.
    await client.ask('setLevel', { level: 'info' }).catch(() => {})
    const result = await client.call('log')
    await client.waitFor('log', 2)
    return { result, logged: eventsOf(client, 'log') }
  },
  cancellation: async (client) => {
    const before = await client.call('status')
    must(textOf(before) === 'waiting 0, cancelled 0', 'the server has a past', before)
    const call = client.start('call', { name: client.named('wait'), args: {} })
    await until(
      () => client.call('status'),
      (result) => textOf(result) === 'waiting 1, cancelled 0',
    )
    client.cancel(call.id)
    await until(
      () => client.call('status'),
      (result) => textOf(result) === 'waiting 0, cancelled 1',
    )
    return 'the server noticed'
  },
  elicitation: (client) => readQuestion(client, { tool: 'ask', method: 'elicitation/create', expected: 'hello Ada' }),
  'elicitation in a handler': (client) =>
    readQuestion(client, { tool: 'ask_at_once', method: 'elicitation/create', expected: 'hello Ada' }),
  sampling: (client) =>
    readQuestion(client, { tool: 'sample', method: 'sampling/createMessage', expected: 'the model says forty-two' }),
  roots: async (client) => {
    const result = await client.call('roots')
    must(textOf(result) === 'file:///somewhere', 'roots are missing', result)
    return result
  },
  resources: async (client) => {
    const { resources } = await client.ask('listResources')
    const own = resources.filter(({ uri }) => !uri.startsWith('sallyport:')).sort(withName)
    const text = await client.ask('read', { uri: 'note://first' })
    const bytes = await client.ask('read', { uri: 'data://bytes' })
    must(text.contents?.[0]?.text === 'the first note', 'another text', text)
    must(bytes.contents?.[0]?.blob === 'AAEC/w==', 'other bytes', bytes)
    return { own, text, bytes }
  },
  templates: async (client) => {
    const { resourceTemplates } = await client.ask('listTemplates')
    const own = resourceTemplates.filter(({ uriTemplate }) => !uriTemplate.startsWith('sallyport:'))
    const item = await client.ask('read', { uri: 'item://7' })
    must(item.contents?.[0]?.text === 'item 7', 'another text', item)
    return { own, item }
  },
  subscribe: async (client) => {
    await client.ask('subscribe', { uri: 'note://first' })
    await client.call('touch')
    await client.waitFor('updated')
    return eventsOf(client, 'updated').map(({ uri }) => uri)
  },
  prompts: async (client) => {
    const { prompts } = await client.ask('listPrompts')
    const prompt = await client.ask('getPrompt', { name: client.named('greet'), args: { name: 'Ada' } })
    return { own: client.own(prompts), prompt }
  },
  completion: async (client) => {
    const argument = { name: 'name', value: 'A' }
    const result = await client.ask('complete', { name: client.named('greet'), argument })
    must(result.completion?.values?.join() === 'Ada,Alan', 'other values', result)
    return result
  },
  '100 KB': async (client) => {
    const result = await client.call('big', { size: 100_000 })
    must(textOf(result)?.length === 100_000, 'another size', textOf(result)?.length)
    return result
  },
  unicode: (client) => {
    const text = 'grüße 世界 🌍 \u2028 e\u0301 \u0000 "\\'
    return readText(client, 'echo', { text }, text)
  },
  concurrent: async (client) => {
    const texts = Array.from({ length: 10 }, (_, index) => `call ${index}`)
    return await Promise.all(texts.map((text) => readText(client, 'slow_echo', { text }, text)))
  },
  'list changed': async (client) => {
    await client.ask('watch')
    await client.call('grow')
    await client.waitFor('tools changed')
    const { tools } = await until(
      () => client.ask('listTools'),
      ({ tools }) => tools.some(({ name }) => name === client.named('extra')),
    )
    const result = await client.call('extra')
    return { tool: client.own(tools).find(({ name }) => name === 'extra'), result }
  },
  reconnect: async (client) => {
    const again = await client.reopen()
    try {
      return await readText(again, 'echo', { text: 'again' }, 'again')
    } finally {
      await again.close()
    }
  },
}

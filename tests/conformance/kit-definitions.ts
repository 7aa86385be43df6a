import type { McpServer } from '@sallyport/kit'
import { PIXEL } from './fixture/media.ts'

export function addKitResources(server: McpServer): void {
  server.resource('test://static-text', { name: 'static-text', mimeType: 'text/plain' }, () => {
    return 'This is the content of the static text resource.'
  })
  server.resource('test://static-binary', { name: 'static-binary', mimeType: 'image/png' }, () => {
    return Buffer.from(PIXEL.data, 'base64')
  })
  server.resource('test://watched-resource', { name: 'watched-resource', mimeType: 'text/plain' }, () => {
    return 'This is the content of the watched resource.'
  })
  const template = { name: 'template', description: 'Data of an id', mimeType: 'application/json' }
  server.resourceTemplate('test://template/{id}/data', template, ({ variables: { id } }) => {
    return JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  })
}

export function addKitPrompts(server: McpServer): void {
  const complete = (typed: string) => ['paris', 'park', 'party'].filter((value) => value.startsWith(typed))
  const argument = (name: string) => ({ name, description: `The argument ${name}`, required: true, complete })
  const words = (text: string) => ({ role: 'user', content: { type: 'text', text } }) as const
  const description = 'The suite gets this'
  server.prompt('test_simple_prompt', { description }, () => 'This is a simple prompt for testing.')
  server.prompt(
    'test_prompt_with_arguments',
    { description, arguments: [argument('arg1'), argument('arg2')] },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  )
  server.prompt('test_prompt_with_embedded_resource', { description, arguments: [argument('resourceUri')] }, (args) => {
    const resource = { uri: args.resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
    return [
      { role: 'user', content: { type: 'resource', resource } },
      words('Please process the embedded resource above.'),
    ]
  })
  server.prompt('test_prompt_with_image', { description }, () => [
    { role: 'user', content: PIXEL },
    words('Please analyze the image above.'),
  ])
  server.prompt('test_input_required_result_prompt', { description }, async (_args, context) => {
    const schema = { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] } as const
    const question = { message: 'What context should the prompt use?', schema, key: 'user_context' }
    return `The context is ${JSON.stringify(await context.elicit(question))}`
  })
}

// A notebook in memory: tools that read and tools that write, resources that are added and removed, and a prompt.
import { createMcpServer, READ, serveStdio, ToolRetryError, WRITE } from '../../dist/packages/kit/index.js'

const MAX_NOTES = 1_000
const MAX_TEXT = 20_000

/** @type {Map<string, { id: string, title: string, text: string, created: string }>} */
const notes = new Map()
let lastNumber = 0

const server = createMcpServer('notes', {
  version: '1.0.0',
  title: 'Notes',
  instructions: 'Notes exist as long as this server runs. Search before you create a note, to avoid duplicates.',
})

const noteId = { type: 'string', description: 'An id from list_notes, such as n1' }

server.tool(
  'create_note',
  {
    title: 'Create note',
    description: 'Write a note. Returns its id.',
    permission: WRITE,
    annotations: { destructiveHint: false },
    input: {
      type: 'object',
      properties: { title: { type: 'string' }, text: { type: 'string' } },
      required: ['title', 'text'],
      additionalProperties: false,
    },
  },
  ({ title, text }) => addNote(title, text),
)

server.tool(
  'list_notes',
  { title: 'List notes', description: 'All notes, without their text.', permission: READ },
  () => [...notes.values()].map(({ id, title, created }) => ({ id, title, created })),
)

server.tool(
  'read_note',
  {
    title: 'Read note',
    description: 'One note with its text.',
    permission: READ,
    input: { type: 'object', properties: { id: noteId }, required: ['id'], additionalProperties: false },
  },
  ({ id }) => findNote(id),
)

server.tool(
  'search_notes',
  {
    title: 'Search notes',
    description: 'The notes whose title or text contains the words. Upper and lower case are the same.',
    permission: READ,
    input: {
      type: 'object',
      properties: { words: { type: 'string' } },
      required: ['words'],
      additionalProperties: false,
    },
  },
  ({ words }) => {
    const wanted = words.trim().toLowerCase()
    // The model can correct this by itself, so the error says how.
    if (wanted === '') throw new ToolRetryError('The words are empty. Give a word to search for.')
    const found = [...notes.values()].filter(({ title, text }) => `${title}\n${text}`.toLowerCase().includes(wanted))
    return found.map(({ id, title }) => ({ id, title }))
  },
)

server.tool(
  'delete_note',
  {
    title: 'Delete note',
    description: 'Delete a note permanently.',
    permission: WRITE,
    annotations: { destructiveHint: true, idempotentHint: false },
    input: { type: 'object', properties: { id: noteId }, required: ['id'], additionalProperties: false },
  },
  ({ id }) => {
    const { title } = findNote(id)
    notes.delete(id)
    resources.get(id)?.remove()
    resources.delete(id)
    return `Deleted "${title}".`
  },
)

server.resource('notes://all', { name: 'All notes', mimeType: 'text/markdown' }, () =>
  [...notes.values()].map(({ title, text }) => `# ${title}\n\n${text}\n`).join('\n'),
)

server.prompt(
  'summarise_notes',
  {
    title: 'Summarise my notes',
    description: 'A summary of all notes, for a reader you name',
    arguments: [{ name: 'reader', description: 'Who it is for', required: true }],
  },
  ({ reader }) => `Read the resource notes://all and summarise it in five sentences for ${reader}.`,
)

/** Every note is also a resource. `list_changed` notifies clients of each change. */
const resources = new Map()

function addNote(title, text) {
  if (title.trim() === '') throw new ToolRetryError('The title is empty. Give the note a title.')
  if (title.length + text.length > MAX_TEXT) throw new ToolRetryError(`A note has at most ${MAX_TEXT} characters.`)
  if (notes.size >= MAX_NOTES) throw new ToolRetryError(`There are ${MAX_NOTES} notes already. Delete one first.`)
  const note = { id: `n${++lastNumber}`, title, text, created: new Date().toISOString() }
  notes.set(note.id, note)
  const options = { name: title, mimeType: 'text/plain' }
  resources.set(
    note.id,
    server.resource(`notes://${note.id}`, options, () => note.text),
  )
  return { id: note.id }
}

function findNote(id) {
  const note = notes.get(id)
  if (note === undefined) throw new ToolRetryError(`There is no note ${JSON.stringify(id)}. See list_notes.`)
  return note
}

addNote('Welcome', 'This note is in the memory of a demo server. Create, search and delete as you like.')

await serveStdio(server)

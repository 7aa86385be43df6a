import { expect, it } from 'vitest'
import { progressive, thirdPerson } from './verb-forms.ts'

it.each([
  ['delete', 'deletes', 'deleting'],
  ['apply', 'applies', 'applying'],
  ['deploy', 'deploys', 'deploying'],
  ['push', 'pushes', 'pushing'],
  ['flush', 'flushes', 'flushing'],
  ['drop', 'drops', 'dropping'],
  ['wipe', 'wipes', 'wiping'],
  ['add', 'adds', 'adding'],
  ['send', 'sends', 'sending'],
  ['edit', 'edits', 'editing'],
  ['rm', 'rms', 'rming'],
])('%s has the forms %s and %s', (verb, third, ing) => {
  expect([thirdPerson(verb), progressive(verb)]).toEqual([third, ing])
})

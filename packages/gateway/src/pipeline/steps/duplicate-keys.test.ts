import { expect, it } from 'vitest'
import { checkDuplicateKeys } from './duplicate-keys.ts'

it.each(['Name', 'NAME', 'nAme', 'Arguments', 'argument\u017f', 'URI', '_META', 'TaskId', 'taskid', 'TASKID'])(
  'a request with a member %s is refused: some servers would read it instead of the one that was checked',
  (key) => {
    expect(checkDuplicateKeys({ name: 'a', [key]: 'b' })).toMatchObject({
      outcome: 'deny',
      code: 'INVALID_PARAMS',
    })
  },
)

it('correctly spelled members, and members with no meaning to the gateway, are allowed', () => {
  const params = { name: 'a', arguments: {}, uri: 'x:', taskId: 't', _meta: {}, task: {}, Title: 'T', namen: 1 }
  expect(checkDuplicateKeys(params)).toMatchObject({ outcome: 'allow' })
})

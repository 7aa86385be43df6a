import { expect, it } from 'vitest'
import { checkDuplicateKeys } from './duplicate-keys.ts'

it.each(['Name', 'NAME', 'nAme', 'Arguments', 'argument\u017f', 'URI', '_META', 'TaskId', 'taskid', 'TASKID'])(
  'a request with a member %s is refused: some servers would take it for the one that was judged',
  (key) => {
    expect(checkDuplicateKeys({ name: 'a', [key]: 'b' })).toMatchObject({
      outcome: 'deny',
      code: 'INVALID_PARAMS',
    })
  },
)

it('members under their own names, and those that mean nothing to us, pass', () => {
  const params = { name: 'a', arguments: {}, uri: 'x:', taskId: 't', _meta: {}, task: {}, Title: 'T', namen: 1 }
  expect(checkDuplicateKeys(params)).toMatchObject({ outcome: 'allow' })
})

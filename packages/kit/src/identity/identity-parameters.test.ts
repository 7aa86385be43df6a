import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'

const register = (input: object) =>
  createMcpServer('sample').tool(
    'find',
    { description: '', permission: READ, input: { type: 'object', ...input } },
    () => '',
  )

describe(`${promise('KIT-1')} a tool`, () => {
  it.each(['user_id', 'session_id', 'userId', 'sessionId', 'USER_ID', 'user-id', 'userid'])(
    'with the parameter %s is refused at registration',
    (name) => {
      const properties = { query: { type: 'string' }, [name]: { type: 'string' } }
      expect(() => register({ properties })).toThrow(`has the parameter "${name}"`)
      expect(() => register({ anyOf: [{}, { allOf: [{ properties }] }] })).toThrow(`has the parameter "${name}"`)
    },
  )

  it('may have the words inside of its data', () => {
    register({ properties: { record: { type: 'object', properties: { user_id: {} } }, user: {}, users_id: {} } })
  })
})

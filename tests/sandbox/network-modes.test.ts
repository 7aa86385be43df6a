import { afterAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { describeNetworkModes, type Reach } from './network-table.ts'
import { canBuildNetworks, makeUserFolder, run, sandboxed, USERS } from './sandbox-world.ts'

const flagsOf = ({ mode, allow = [] }: Reach): readonly string[] => [
  ...['--mode', mode],
  ...allow.flatMap((host) => ['--allow', host]),
]

describe.skipIf(!canBuildNetworks())(`a program in a sandbox (${promise('SEN-18')})`, () => {
  for (const user of USERS) {
    const folder = makeUserFolder(user)
    afterAll(() => folder.remove())
    const start = () => ({ user, folder: folder.path })
    const wrap = (reach: Reach, command: readonly string[]) => sandboxed(flagsOf(reach), command)
    describeNetworkModes(`started by ${user}`, { start, wrap, explains: true })

    it(`has network mode NONE unless another is asked for (${user})`, async () => {
      const refused = await run(sandboxed([], ['curl', '-sS', '--fail', 'http://11.0.0.9/']), start())
      expect(refused.stderr).toContain('To allow it, add --mode PROXIED --allow 11.0.0.9:80\n')
    })
  }
})

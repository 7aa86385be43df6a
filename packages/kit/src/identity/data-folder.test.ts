import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { findDataFolder } from './data-folder.ts'

it('the option overrides the variable, and the variable overrides the folder of the system', () => {
  const environment = { SALLYPORT_DATA: '/srv/data', XDG_STATE_HOME: '/srv/state' }
  expect(findDataFolder('mine', environment)).toBe(resolve('mine'))
  expect(findDataFolder(undefined, environment)).toBe('/srv/data')
  expect(findDataFolder(undefined, { ...environment, SALLYPORT_DATA: '' })).toBe('/srv/state/sallyport-kit')
  expect(findDataFolder(undefined, { XDG_STATE_HOME: 'relative' })).toBe(
    join(homedir(), '.local', 'state', 'sallyport-kit'),
  )
})

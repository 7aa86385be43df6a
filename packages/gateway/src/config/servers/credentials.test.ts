import { expect, it } from 'vitest'
import { findCredentials } from './credentials.ts'

const among = (fromVariables: Record<string, string>) =>
  findCredentials({ fromVariables: new Map(Object.entries(fromVariables)) })

it.each([
  ['DB_PASSWORD', 'correct horse battery'],
  ['ANYTHING', 'correcthorsebatterystaple'],
  ['X', 's3cr3t-value'],
  ['AWS_SECRET_ACCESS_KEY', '/wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
  ['OPAQUE', '/9j4AAQSkZJRgABAQEAYABgAAD2Q83vT1x'],
  ['API_URL', 'https://host.example/?key=abc'],
])('the value of the variable %s is a credential: %s', (name, value) => {
  expect(among({ [name]: value })).toContain(value)
})

it.each([
  ['HOME', '/home/somebody'],
  ['PATH', '/usr/local/bin:/usr/bin'],
  ['DATA', '/srv/data/projects'],
  ['LOCAL', './some/folder'],
  ['WINDOWS', 'C:\\Users\\somebody'],
  ['NODE_ENV', 'production'],
  ['AWS_REGION', 'eu-central-1'],
  ['PORT', '8080'],
  ['FLAG', 'true'],
  ['API_BASE', 'https://api.example.org/v1'],
  ['SHORT', 'seven77'],
])('the value of the variable %s is not a credential: %s', (name, value) => {
  expect(among({ [name]: value })).toEqual([])
})

it('headers, variables and parameters with secret names contain credentials, wherever they come from', () => {
  const basic = Buffer.from('ann:pass:word:1').toString('base64')
  const given = {
    fromVariables: new Map([['DB', 'postgres://ann:p%40ssw0rd1@db.example/x']]),
    headers: { Authorization: `Basic ${basic}`, 'X-Api-Key': 'written-out', Accept: 'text/html, text/plain' },
    env: { TOKEN: 'in-the-file', DEBUG: 'everything' },
    urls: ['https://host.example/mcp?access_token=in-the-address&page=1'],
  }
  expect(new Set(findCredentials(given))).toEqual(
    new Set([
      'postgres://ann:p%40ssw0rd1@db.example/x',
      'p%40ssw0rd1',
      'p@ssw0rd1',
      `Basic ${basic}`,
      basic,
      'pass:word:1',
      'written-out',
      'in-the-file',
      'in-the-address',
    ]),
  )
})

import { expect, it } from 'vitest'
import { repeatFolders } from './suggested-commands.ts'

it.each([
  ['See `sallyport tools`.', {}, 'See `sallyport tools`.'],
  ['See `sallyport tools`.', { home: '/h' }, 'See `sallyport tools --home /h`.'],
  [
    '`sallyport explain 1` and `sallyport audit`',
    { state: 'a b' },
    "`sallyport explain 1 --state 'a b'` and `sallyport audit --state 'a b'`",
  ],
  ['`sallyport serve --home /x`', { home: '/h', state: '/s' }, '`sallyport serve --home /x --state /s`'],
  ['`sallyport run amp -- -x`', { home: '/h' }, '`sallyport run amp --home /h -- -x`'],
  ['`npm install sallyport`, sallyport tools', { home: '/h' }, '`npm install sallyport`, sallyport tools'],
])('commands that %s suggests name the folders %j', (text, flags, expected) => {
  expect(repeatFolders(text, flags)).toBe(expected)
})

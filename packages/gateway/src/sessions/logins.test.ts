import { describe, expect, it } from 'vitest'
import { clearedCookie, createLogins, type Logins, sessionCookie } from './logins.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

function clocked() {
  const clock = { now: 1_000_000 }
  return { clock, logins: createLogins({ now: () => clock.now }) }
}

function loggedIn(logins: Logins): string {
  return logins.redeem(logins.mintLoginCode()) as string
}

describe('a login code', () => {
  it('opens only one session', () => {
    const { logins } = clocked()
    const code = logins.mintLoginCode()
    const value = logins.redeem(code)
    expect(logins.redeem(code)).toBeUndefined()
    expect(logins.verifyCookie(`sallyport=${value}`)).toMatchObject({ role: 'operator' })
  })

  it('is valid for less than ten minutes', () => {
    const { clock, logins } = clocked()
    const early = logins.mintLoginCode()
    const late = logins.mintLoginCode()
    clock.now += 10 * MINUTE - 1
    expect(logins.redeem(early)).toBeDefined()
    clock.now += 1
    expect(logins.redeem(late)).toBeUndefined()
  })

  it('cannot be guessed, and is not a cookie', () => {
    const { logins } = clocked()
    const code = logins.mintLoginCode()
    for (const guess of ['', 'x', 'A'.repeat(43), `${code} `, code.slice(1), 'A'.repeat(100_000)])
      expect(logins.redeem(guess)).toBeUndefined()
    expect(logins.verifyCookie(`sallyport=${code}`)).toBeUndefined()
    expect(logins.redeem(code)).toBeDefined()
  })

  it('is dropped for newer ones if there are too many', () => {
    const { logins } = clocked()
    const codes = Array.from({ length: 17 }, () => logins.mintLoginCode())
    expect(logins.redeem(codes[0] as string)).toBeUndefined()
    expect(logins.redeem(codes[1] as string)).toBeDefined()
    expect(logins.redeem(codes[16] as string)).toBeDefined()
  })
})

describe('a browser session', () => {
  it('is valid while it is used, and ends after twelve idle hours', () => {
    const { clock, logins } = clocked()
    const cookie = `sallyport=${loggedIn(logins)}`
    for (let round = 0; round < 3; round++) {
      clock.now += 12 * HOUR - 1
      expect(logins.verifyCookie(cookie)).toBeDefined()
    }
    clock.now += 12 * HOUR
    expect(logins.verifyCookie(cookie)).toBeUndefined()
  })

  it('ends with the logout, and the others stay valid', () => {
    const { logins } = clocked()
    const [mine, other] = [loggedIn(logins), loggedIn(logins)]
    logins.logout(`sallyport=${mine}`)
    expect(logins.verifyCookie(`sallyport=${mine}`)).toBeUndefined()
    expect(logins.verifyCookie(`sallyport=${other}`)).toBeDefined()
  })

  it('that is used stays, and unused ones are dropped if there are too many', () => {
    const { logins } = clocked()
    const used = `sallyport=${loggedIn(logins)}`
    const unused = `sallyport=${loggedIn(logins)}`
    for (let more = 0; more < 62; more++) loggedIn(logins)
    expect(logins.verifyCookie(used)).toBeDefined()
    loggedIn(logins)
    expect(logins.verifyCookie(used)).toBeDefined()
    expect(logins.verifyCookie(unused)).toBeUndefined()
  })

  it('is found among other cookies', () => {
    const { logins } = clocked()
    const value = loggedIn(logins)
    for (const header of [`a=1; sallyport=${value}`, `sallyport=${value}; b="x;y"`, `xsallyport=1; sallyport=${value}`])
      expect(logins.verifyCookie(header)).toBeDefined()
  })

  it('is refused in every ambiguous form', () => {
    const { logins } = clocked()
    const value = loggedIn(logins)
    const unclear = [
      undefined,
      '',
      'sallyport',
      'sallyport=',
      value,
      `Sallyport=${value}`,
      `sallyport="${value}"`,
      `sallyport=${value} `,
      `sallyport= ${value}`,
      `sallyport =${value}`,
      `sallyport=${value};`,
      `sallyport=${value},`,
      `sallyport=${value}; sallyport=${value}`,
      `sallyport=${'A'.repeat(43)}; sallyport=${value}`,
      `sallyport=${value};  sallyport=${value}`,
      `sallyport=${value}=`,
      `sallyport=${value}; a=${'x'.repeat(9000)}`,
    ]
    for (const header of unclear) expect(logins.verifyCookie(header)).toBeUndefined()
    expect(logins.verifyCookie(`sallyport=${value}`)).toBeDefined()
  })
})

it('sets a cookie that scripts and other sites cannot use', () => {
  expect(sessionCookie('v')).toBe('sallyport=v; HttpOnly; SameSite=Strict; Path=/')
  expect(clearedCookie()).toBe('sallyport=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0')
})

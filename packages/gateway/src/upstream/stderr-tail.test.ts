import { describe, expect, it } from 'vitest'
import { createFakeSecrets } from '../../../core/src/fake-secrets.test-kit.ts'
import { StderrTail } from './stderr-tail.ts'

function tailOf(text: string | Buffer, options?: ConstructorParameters<typeof StderrTail>[0]): StderrTail {
  const tail = new StderrTail(options)
  tail.push(Buffer.from(text))
  return tail
}

describe('StderrTail', () => {
  it('retains the last lines and says how many were dropped', () => {
    const tail = tailOf('1\n2\n3\n4\n5\n', { lines: 3 })
    expect(tail.tail()).toEqual(['… 2 earlier lines were dropped', '3', '4', '5'])
    expect(tail.dropped).toBe(2)
    expect(tail.written).toBe(5)
  })

  it('counts the same whether the lines come in one chunk or in many', () => {
    const text = `${Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n')}\nopen`
    const whole = tailOf(text, { lines: 4 })
    const pieces = new StderrTail({ lines: 4 })
    for (const byte of Buffer.from(text)) pieces.push(Buffer.from([byte]))
    expect(pieces.tail()).toEqual(whole.tail())
    expect(whole.tail()).toEqual(['… 47 earlier lines were dropped', 'line 47', 'line 48', 'line 49', 'open'])
    expect(pieces.written).toBe(51)
  })

  it('drops an open line that many others have displaced', () => {
    const tail = tailOf('begun ', { lines: 2 })
    tail.push(Buffer.from('and ended\na\nb\nc\n'))
    expect(tail.tail()).toEqual(['… 2 earlier lines were dropped', 'b', 'c'])
  })

  it('shows a line that has not ended, and ends it with the process', () => {
    const tail = tailOf('no line feed')
    expect(tail.tail()).toEqual(['no line feed'])
    tail.end()
    tail.push(Buffer.from('next\n'))
    expect(tail.tail()).toEqual(['no line feed', 'next'])
  })

  it('cuts a long line and drops the rest', () => {
    const tail = new StderrTail({ lineLength: 10 })
    for (let round = 0; round < 1_000; round++) tail.push(Buffer.alloc(1_000, 'x'))
    tail.push(Buffer.from('\nshort\n'))
    expect(tail.tail()).toEqual([`${'x'.repeat(10)}…`, 'short'])
  })

  it('joins a character that was split between chunks, and survives invalid bytes', () => {
    const tail = new StderrTail()
    for (const byte of Buffer.concat([Buffer.from('Grüße €😀'), Buffer.from([0xff, 0x0a])]))
      tail.push(Buffer.from([byte]))
    expect(tail.tail()).toEqual(['Grüße €😀\ufffd'])
  })

  it('removes everything that a terminal would interpret', () => {
    expect(tailOf('\u001b[31mred\u001b[0m\u0000\u001b]52;c;aGk=\u0007\r\n').tail()).toEqual(['red\\u0000'])
  })

  it('masks secrets, however they were split', () => {
    const tail = new StderrTail({ secrets: ['hunter22-hunter22', 'hunter22'], lineLength: 12 })
    for (const byte of Buffer.from('key: hunter22!\nkey: hunter22-hun')) tail.push(Buffer.from([byte]))
    expect(tail.tail()).toEqual(['key: •••!', 'key: •••'])
    tail.push(Buffer.from('ter22\n0123456 hunter22-hunter22\nhunte'))
    expect(tail.tail()).toEqual(['key: •••!', 'key: •••', '0123456 •••', '•••'])
  })

  it('shows no key or token that a server writes, whoever gave it', () => {
    const [github] = createFakeSecrets()
    expect(tailOf(`401 for ${github?.secret}\n`).tail()).toEqual(['401 for [redacted: GitHub token]'])
  })

  it('hides a private key of many lines, and shows everything after it', () => {
    const pem = createFakeSecrets().find(({ kind }) => kind === 'private key')?.secret ?? ''
    const tail = tailOf(`read key:\n${pem}\nready\n`).tail()
    expect(tail).toContain('ready')
    for (const line of pem.split('\n').slice(1, -1)) expect(tail.join('\n')).not.toContain(line)
    const logged = pem.split('\n').map((line) => `[info] ${line}`)
    expect(
      tailOf(`${logged.join('\n')}\n`)
        .tail()
        .join('\n'),
    ).not.toContain(pem.split('\n')[2])
  })
})

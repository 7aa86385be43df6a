import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPrintableAscii, normalizeLookalikes, tokenizeName } from './tokenize-name.ts'

describe('the words of a name', () => {
  it.each([
    ['getURLFor', ['get', 'url', 'for']],
    ['createPDF', ['create', 'pdf']],
    ['HTTPGetRequest', ['http', 'get', 'request']],
    ['GetPostById', ['get', 'post', 'by', 'id']],
    ['get_created_at', ['get', 'created', 'at']],
    ['API-delete-a-block', ['api', 'delete', 'a', 'block']],
    ['repos/list.files', ['repos', 'list', 'files']],
    ['__get__x__', ['get', 'x']],
    ['get2faStatus', ['get', '2', 'fa', 'status']],
    ['s3_put', ['s', '3', 'put']],
    ['DELETE_FILE', ['delete', 'file']],
    ['delete file:now!', ['delete', 'file', 'now']],
    ['', []],
    ['___', []],
  ])('of %j are %j', (name, tokens) => {
    expect(tokenizeName(name)).toEqual(tokens)
  })

  it.each([
    ['full-width letters', 'ｄｅｌｅｔｅ＿ｆｉｌｅ'],
    ['Cyrillic letters', 'dеlеtе_filе'],
    ['Greek letters', 'delete_fιle'],
    ['accents', 'délète_file'],
    ['combining marks', 'd\u0335elete_file'],
    ['mathematical letters', '𝐝𝐞𝐥𝐞𝐭𝐞_𝒇𝒊𝒍𝒆'],
    ['zero-width characters', 'del\u200bete_fi\u2060le'],
    ['tags in between', 'del\u{e0061}ete_file'],
    ['capitals of another script', 'DЕLЕTЕ_FILE'],
  ])('are those that a reader sees, despite %s', (_, name) => {
    expect(tokenizeName(name)).toEqual(['delete', 'file'])
    expect(isPrintableAscii(name)).toBe(false)
  })

  it('are in lower case and never empty, and tokenizing them again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const tokens = tokenizeName(name)
        expect(tokens).not.toContain('')
        expect(tokenizeName(tokens.join('_'))).toEqual(tokens.flatMap((token) => tokenizeName(token)))
        expect(normalizeLookalikes(normalizeLookalikes(name))).toBe(normalizeLookalikes(name))
      }),
    )
  })
})

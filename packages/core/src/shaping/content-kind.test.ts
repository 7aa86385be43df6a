import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { type ContentHints, detectKind } from './content-kind.ts'

const PROSE = 'Well, it was late.\nStill, we went on.\nThen, at last, it ended.\nYes, it did.'

describe(`${promise('ISO-14')}: the kind of a text`, () => {
  it.each<[kind: string, text: string, hints?: ContentHints]>([
    ['json', '{"a": [1, 2.5e3, "x\\u00e9", null]}'],
    ['json', '  [\n1\n]\n'],
    ['log', '[INFO] started\n[WARN] {"a": 1}\n[INFO] done'],
    ['log', '2026-01-02 10:00:00,123 INFO one\n2026-01-02 10:00:01,456 WARN two\n2026-01-02 10:00:02,789 INFO three'],
    ['log', '{"level": "info"} started\nERROR: no\nINFO: yes'],
    ['text', '{"a": 1} and then\n{"b": 2} as well'],
    ['text', '{not: json}'],
    ['text', '[1, 2'],
    ['ndjson', '{"a": 1}\n{"a": 2}\n'],
    ['ndjson', '{"a": 1}\r\n\r\n{"a": 2}'],
    ['text', '1\n2\n3\n'],
    ['ndjson', '1\n2\n3\n', { mimeType: 'application/x-ndjson' }],
    ['text', PROSE],
    ['text', PROSE, { mimeType: 'text/csv' }],
    ['text', 'One, two.\nThree, four.\nFive, six.'],
    ['csv', 'id,name\n1,"a\nb, c"\n2,d\n'],
    ['csv', 'id;name\n1;a\n2;b\n'],
    ['tsv', 'id\tname\n1\ta\n2\tb\n'],
    ['csv', 'a,b\n1,2', { mimeType: 'text/csv; charset=utf-8' }],
    ['csv', 'a,b\n1,2', { name: 'table.CSV' }],
    ['text', 'a,b\n1,2'],
    ['html', '<!DOCTYPE html><p>hello'],
    ['html', '<div>hello</div>'],
    ['xml', '<?xml version="1.0"?><a><b/></a>'],
    ['xml', '<records><r id="1"/></records>'],
    ['text', '<3 you, all of you'],
    ['markdown', '# Title\n\nSome text.\n\n## Part\n\n- item'],
    ['text', '# a comment\nrun this\nand this'],
    ['markdown', 'no marks at all', { mimeType: 'text/markdown' }],
    ['yaml', 'name: x\nlist:\n  - a\n  - b: 1\n'],
    ['yaml', '---\na: 1\nb: 2\n'],
    ['binary', 'GIF89a\u0000\u0001'],
    ['text', '\u001b[31mred\u001b[0m text'],
    ['text', ''],
    ['json', '"a text"'],
    ['text', 'plain', { mimeType: 'application/json', name: 'x.json' }],
    ['text', 'plain', { mimeType: `${'a'.repeat(100_000)}/json`, name: 'x.constructor' }],
  ])('is %s: %j %j', (kind, text, hints = {}) => {
    expect(detectKind(text, hints)).toBe(kind)
  })
})

import type { ConfigPreviewView } from '../../../gateway/src/serve/api/api.ts'
import { ForeignName, ForeignText } from './foreign-text.tsx'
import { Note } from './states.tsx'

/** What was found in pasted text or in the files of an agent, where it needs a person. */
export function FoundServers({ found }: { readonly found: NonNullable<ConfigPreviewView['imported']> }) {
  const { added, present, skipped } = found
  return (
    <>
      {added.map(({ id, notes, unset }) => (
        <div key={id} className="stack-s">
          {unset.length > 0 && (
            <Note kind="ask">
              <ForeignName name={id} /> stays disabled until{' '}
              {unset.map((name) => (
                <span key={name}>
                  <ForeignName name={name} />{' '}
                </span>
              ))}
              is set in the environment of the gateway.
            </Note>
          )}
          {notes.map((note) => (
            <Note key={note}>
              <ForeignText text={note} />
            </Note>
          ))}
        </div>
      ))}
      {present.map(({ id, name }) => (
        <Note key={`${id} ${name}`}>
          <ForeignName name={name} /> is in config.yaml already, as <ForeignName name={id} />.
        </Note>
      ))}
      {skipped.map(({ name, file, why }) => (
        <Note key={`${file} ${name}`} kind="ask">
          <ForeignName name={name} /> is left out: <ForeignText text={why} />
        </Note>
      ))}
    </>
  )
}

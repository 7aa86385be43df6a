import { parseScript } from './script.js';
/** How a finished script is told from a client that gave up. */
export const DONE = 'SCRIPT DONE';
const SEARCH = /^tool_?search$/i;
const MAX_SEARCHES = 4;
export const fullName = ({ namespace, name }) => (namespace ? `${namespace}/${name}` : name);
/**
 * The next turn of the script that stands in the newest message of the user.
 *
 * A tool is named by its last words (`notes_search`), in any spelling; `!name` is sent as it stands, offered or not.
 */
export function answerByScript(conversation) {
    const { turns, results } = progressOf(conversation);
    // Clients also ask for titles and summaries, without tools.
    if (turns.length === 0 || conversation.tools.length === 0)
        return { text: 'nothing to do' };
    let done = 0;
    for (const turn of turns) {
        const calls = turn.filter((directive) => directive.kind === 'call');
        if (done + calls.length > results.length)
            return callAll(conversation, calls.slice(results.length - done));
        done += calls.length;
    }
    const said = turns.flat().flatMap((directive) => (directive.kind === 'say' ? directive.text : []));
    return { text: [DONE, ...results.map(({ tool, text }) => `${tool} => ${text}`), ...said].join('\n') };
}
/** How far the newest script has come; searches for tools are no part of it. */
export function progressOf({ entries }) {
    const at = entries.findLastIndex((entry) => 'user' in entry && parseScript(entry.user).length > 0);
    const script = entries[at];
    const results = entries.slice(at + 1).flatMap((entry) => ('result' in entry ? entry.result : []));
    return {
        turns: script && 'user' in script ? parseScript(script.user) : [],
        results: results.filter(({ tool }) => !SEARCH.test(tool)),
        searches: results.filter(({ tool }) => SEARCH.test(tool)),
    };
}
function callAll(conversation, wanted) {
    const calls = [];
    for (const { tool: name, args } of wanted) {
        const tool = findTool(conversation.tools, name);
        if (tool) {
            calls.push({ tool, args });
            continue;
        }
        const search = searchFor(conversation, name, args);
        return search ? { calls: [search] } : { text: `no such tool: ${name}` };
    }
    return { calls };
}
const fold = (name) => name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
function findTool(tools, wanted) {
    if (wanted.startsWith('!'))
        return splitName(wanted.slice(1));
    const words = fold(wanted);
    return tools
        .filter((tool) => fold(fullName(tool)) === words || fold(fullName(tool)).endsWith(`_${words}`))
        .sort((one, other) => fullName(one).length - fullName(other).length)[0];
}
function splitName(full) {
    const [name = '', namespace] = full.split('/').reverse();
    return namespace === undefined ? { name } : { name, namespace };
}
/** Tools that a client mentions in a text. */
const mentionedIn = (text) => [...text.matchAll(/\bmcp[\w.:-]*/g)].map(([name]) => ({ name }));
/** The way to a tool that the client holds back behind a search: again while its servers start, then by its bridge. */
function searchFor({ tools, entries, everything }, wanted, args) {
    const search = tools.find(({ name }) => SEARCH.test(name));
    if (!search)
        return undefined;
    const results = entries.flatMap((entry) => ('result' in entry ? entry.result : []));
    const searches = results.length - 1 - results.findLastIndex(({ tool }) => !SEARCH.test(tool));
    const bridge = tools.find(({ name }) => name === 'tool_call');
    const found = searches > 0 && findTool(mentionedIn(results.at(-1)?.text ?? ''), wanted);
    if (bridge && found)
        return { tool: bridge, args: { name: found.name, arguments: args } };
    if (searches >= MAX_SEARCHES)
        return undefined;
    const held = findTool(mentionedIn(everything), wanted);
    const query = held ? `select:${held.name}` : fold(wanted).replaceAll('_', ' ');
    const limit = search.builtin ? { limit: 8 } : { max_results: 5 };
    return { tool: search, args: { query, ...limit }, waitMs: searches * 1_000 };
}

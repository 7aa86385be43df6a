const DIRECTIVE = /\[\[(call|say)\s+/g;
/**
 * The script in a prompt. Each line that holds directives is one turn of the model:
 *
 *   [[call notes_search_notes {"query":"x"}]]
 *   [[say that was all]]
 */
export function parseScript(text) {
    return (text
        // Some clients quote the prompt once more.
        .split(/\r?\n|\\n(?=\[\[)/)
        .map((line) => parseTurn(line.includes('{\\"') ? line.replace(/\\(["\\])/g, '$1') : line))
        .filter((turn) => turn.length > 0));
}
function parseTurn(line) {
    return [...line.matchAll(DIRECTIVE)].flatMap(({ 0: opening, 1: verb, index }) => {
        const rest = line.slice(index + opening.length);
        if (verb === 'say')
            return [{ kind: 'say', text: rest.slice(0, Math.max(rest.indexOf(']]'), 0)) }];
        const tool = /^[^\s\]]+/.exec(rest)?.[0];
        if (tool === undefined)
            return [];
        const json = leadingObject(rest.slice(tool.length).trimStart());
        return [{ kind: 'call', tool, args: json === '' ? {} : JSON.parse(json) }];
    });
}
/** The JSON object with which a text begins: quotes hide braces. */
function leadingObject(text) {
    let depth = 0;
    for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
        if (index > 0 && depth === 0)
            return '';
        if (token === '{')
            depth += 1;
        if (token === '}')
            depth -= 1;
        if (token === '}' && depth === 0)
            return text.slice(0, index + 1);
    }
    return '';
}

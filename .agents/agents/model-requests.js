/** What a request of each API says, in words that they share. */
export const REQUEST_READERS = {
    anthropic: readAnthropic,
    chat: readChat,
    responses: readResponses,
    gemini: readGemini,
};
function readAnthropic({ messages = [], tools = [] }) {
    const names = new Map();
    const entries = messages.flatMap(({ role, content }) => blocksOf(content).flatMap((block) => {
        if (block.type === 'tool_use')
            names.set(block.id, block.name);
        if (block.type === 'tool_result')
            return [resultOf(names.get(block.tool_use_id), block.content)];
        return role === 'user' && block.type === 'text' ? [{ user: block.text }] : [];
    }));
    return { entries, tools: tools.map(({ name }) => ({ name })) };
}
const blocksOf = (content) => typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
function readChat({ messages = [], tools = [] }) {
    const names = new Map();
    const entries = messages.flatMap((message) => {
        for (const { id, function: called } of message.tool_calls ?? [])
            names.set(id, bridgedName(called));
        if (message.role === 'tool')
            return [resultOf(names.get(message.tool_call_id) ?? message.name, message.content)];
        return message.role === 'user' ? [{ user: plainText(message.content) }] : [];
    });
    return { entries, tools: tools.map((tool) => ({ name: tool.function?.name ?? tool.name })) };
}
/** Qwen Code calls what it holds back through a tool of its own. */
const bridgedName = ({ name, arguments: args }) => name === 'tool_call' ? (JSON.parse(args).name ?? name) : name;
function readResponses({ input = [], tools = [] }) {
    const names = new Map();
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const entries = items.flatMap((item) => {
        const { type = '', call_id: id } = item;
        if (/(function|custom_tool|tool_search)_call$/.test(type))
            names.set(id, [item.namespace, item.name].filter(Boolean).join('/') || type);
        if (/(function|custom_tool)_call_output$/.test(type))
            return [resultOf(names.get(id), item.output)];
        if (type === 'tool_search_output')
            return [resultOf('tool_search', JSON.stringify(item.tools))];
        return item.role === 'user' ? [{ user: plainText(item.content) }] : [];
    });
    const found = items.filter(({ type }) => /^(tool_search_output|additional_tools)$/.test(type));
    return { entries, tools: [...tools, ...found.flatMap((item) => item.tools ?? [])].flatMap((tool) => flatTools(tool)) };
}
function flatTools(tool, namespace) {
    if (tool.type === 'namespace')
        return tool.tools.flatMap((inner) => flatTools(inner, tool.name));
    if (tool.name === undefined)
        return [{ name: tool.type, builtin: true }];
    return [{ name: tool.name, custom: tool.type === 'custom', ...(namespace !== undefined && { namespace }) }];
}
function readGemini({ contents = [], tools = [] }) {
    const entries = contents.flatMap(({ role, parts = [] }) => parts.flatMap(({ text, functionResponse: answer }) => {
        if (answer)
            return [resultOf(answer.name, geminiOutput(answer.response ?? {}))];
        return role !== 'model' && typeof text === 'string' ? [{ user: text }] : [];
    }));
    const declared = tools.flatMap((tool) => tool.functionDeclarations ?? tool.function_declarations ?? []);
    return { entries, tools: declared.map(({ name }) => ({ name })) };
}
const geminiOutput = (response) => response.output ?? response.error ?? response.content ?? response;
const resultOf = (tool, content) => ({
    result: { tool: tool ?? '?', text: plainText(content) },
});
function plainText(content) {
    if (content === null || content === undefined)
        return '';
    if (typeof content === 'string')
        return content;
    if (Array.isArray(content))
        return content.map(plainText).filter(Boolean).join('\n');
    const { text, content: inner } = content;
    if (typeof text === 'string')
        return text;
    return inner === undefined ? JSON.stringify(content) : plainText(inner);
}

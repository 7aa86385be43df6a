/** Every key of our files may be written in either way; inside, it is camelCase. */
export const toSnakeCase = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const toCamelCase = (key: string): string =>
  key.replaceAll(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

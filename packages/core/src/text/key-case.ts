/** Keys of our files may be in snake_case or camelCase. The code uses camelCase. */
export const toSnakeCase = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const toCamelCase = (key: string): string =>
  key.replaceAll(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

import path from 'node:path'
import { LAYERS, type Layer } from './rules.ts'

/** Where a file stands. */
export interface Place {
  /** `services/portal`, `acceptance`; empty for the root of the repository. */
  readonly workspace: string
  readonly isTest: boolean
  /** Of a service's files: `asset` for what is no source, `none` for a source that belongs to no layer. */
  readonly layer: Layer | 'asset' | 'none' | undefined
}

const isLayer = (name: string): name is Layer => (LAYERS as readonly string[]).includes(name)

export function placeOf(file: string): Place {
  const [, workspace = '', rest = ''] =
    /^((?:packages|services|apps)\/[^/]+|acceptance|bench|scripts)\/(.*)$/.exec(file) ?? []
  const isTest = /^(?:test|testing)\/|\.test\.ts$/.test(rest)
  return {
    workspace,
    isTest,
    layer: workspace.startsWith('services/') ? layerOf(rest, isTest) : undefined,
  }
}

function layerOf(rest: string, isTest: boolean): Layer | 'asset' | 'none' {
  if (isTest) return 'test'
  if (!/^src\/.*\.ts$/.test(rest)) return 'asset'
  const name = rest.split('/')[1]?.replace(/\.ts$/, '') ?? ''
  if (isLayer(name)) return name
  // Wiring that would make index.ts too long.
  return /^create-[a-z-]+$/.test(name) ? 'index' : 'none'
}

/** @returns the file that a relative specifier names, from the root of the repository */
export const fileAt = (from: string, specifier: string): string =>
  path.posix.join(path.posix.dirname(from), specifier)

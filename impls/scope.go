package impls

// What published code keeps in a static variable, in a field of its lock object or in a thread-local has the same scope here. The name says whose
// it is; fresh makes the first value.

// static is a static variable: the process has one.
func static[T any](env Env, name string, fresh func() *T) *T {
	return env.Shared(name, func() any { return fresh() }).(*T)
}

// field is an instance field: each lock object has one.
func field[T any](env Env, name string, fresh func() *T) *T {
	return static(env, name+" of object "+env.Object(), fresh)
}

// threadLocal is a thread-local in a static variable: each thread has one, for all lock objects.
func threadLocal[T any](env Env, name string, fresh func() *T) *T {
	return static(env, name+" of thread "+env.Thread(), fresh)
}

// threadLocalField is a thread-local in an instance field: each thread has one for each lock object.
func threadLocalField[T any](env Env, name string, fresh func() *T) *T {
	return field(env, name+" of thread "+env.Thread(), fresh)
}

// zero makes a zero value.
func zero[T any]() *T { return new(T) }

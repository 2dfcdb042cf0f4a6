// Package sources is the bibliography: what cards, scripts and documents cite.
//
// It owns the entries, and how a citation finds them. It must not know a lock or a script.
package sources

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Reference is an entry of the bibliography: an article, an algorithm or a workload that articles describe, a thread, a document.
type Reference struct {
	ID       string `json:"id"` // as citations write it: "000", "A3", "redis/redis#416"
	Kind     string `json:"kind"`
	Title    string `json:"title"`
	Original string `json:"original,omitempty"` // the title in its own language, where Title translates it
	Author   string `json:"author,omitempty"`
	Address  string `json:"address,omitempty"` // empty: unknown
	Code     string `json:"code,omitempty"`    // the address of its published code
	// In are the articles that describe the algorithm or workload.
	In []string `json:"in,omitempty"`
}

// The kinds of references.
const (
	Article   = "article"
	Algorithm = "algorithm"
	Work      = "workload"
	Document  = "document"
	Thread    = "thread"
)

// nobodyKnown stands for the author of what is not signed.
const nobodyKnown = "author not known"

// All is the bibliography: what cards, scripts and documents cite.
func All() []Reference {
	return slices.Concat(articles(), algorithms(), works(), documents(), threads())
}

func articles() []Reference {
	return []Reference{
		{ID: "000", Kind: Article, Title: "The right way to implement a distributed lock with Redis", Original: "Redis实现分布式锁的正确方式",
			Author: "HuTu92, by the account of its code", Code: "https://github.com/HuTu92/distributed-lock"},
		{ID: "001", Kind: Article, Title: "Untitled; begins: a distributed lock is the continuation of thread synchronisation (C#, StackExchange.Redis)",
			Original: "分布式锁是“线程同步”的延续", Author: nobodyKnown},
		{ID: "002", Kind: Article, Title: "Distributed locks with Redis, and a simple implementation that extends the lock by itself",
			Original: "Redis分布式锁以及一种简单的锁时间自行延长的实现讨论", Author: "hope_wisdom"},
		{ID: "003", Kind: Article, Title: "Java: setting a Redis expiry atomically; a distributed lock with Redis or ZooKeeper",
			Original: "java如何保证redis设置过期时间的原子性_分布式锁用 Redis 还是 Zookeeper", Author: nobodyKnown},
		{ID: "004", Kind: Article, Title: "Redis notes 13: application components with Redis, distributed locks (after Redis in Action, 6.2)",
			Original: "Redis学习笔记十三【使用Redis构建应用程序组件-分布式锁】", Author: "bboyjing"},
	}
}

// algorithms are numbered across the articles, which overlap.
func algorithms() []Reference {
	in := func(id, title string, articles ...string) Reference {
		return Reference{ID: id, Kind: Algorithm, Title: title, In: articles}
	}
	return []Reference{
		in("A1", "SETNX, DEL", "000"),
		in("A2", "SETNX with a time stamp; contenders delete an expired lock", "000"),
		in("A3", "GETSET with a time stamp (v1 of the article's code)", "000"),
		in("A4", "SET NX PX with a token, released by a Lua script (v2 of the code of 000)", "000", "001", "003"),
		in("A5", "SETNX, then EXPIRE", "004", "000", "003"),
		in("A6", "SETNX, released under WATCH, MULTI and EXEC", "004"),
		in("A7", "SET NX PX with a renewing thread (watchdog), as published", "002"),
		in("A8", "watchdog as Redisson does it", "003"),
		in("A9", "Redisson's reentrant lock", "003"),
		in("A10", "Redisson's fair lock", "003"),
		in("A11", "Redlock", "003"),
		in("A12", "Redisson's multi-lock and RedLock", "003"),
		in("A13", "ZooKeeper: ephemeral sequential nodes", "003"),
		in("A14", "Curator's InterProcessMutex", "003"),
		in("A15", "a lock in the memory of one process", "003"),
		in("A16", "deployment: one server, replica with failover, cluster", "003"),
	}
}

func works() []Reference {
	return []Reference{
		{ID: "W1", Kind: Work, Title: "stock: read from the cache, written to the database", In: []string{"003", "001"}},
		{ID: "W2", Kind: Work, Title: "flash sale: one lock for the whole sale, stock in memory", In: []string{"000"}},
		{ID: "W3", Kind: Work, Title: "market: sellers list items, buyers buy them", In: []string{"004"}},
	}
}

func documents() []Reference {
	return []Reference{
		{ID: "redis.io", Kind: Document, Title: "Distributed Locks with Redis", Author: "Redis documentation",
			Address: "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/"},
		{ID: "redis.io/WAIT", Kind: Document, Title: "WAIT", Author: "Redis documentation", Address: "https://redis.io/docs/latest/commands/wait/"},
		{ID: "redis.io/replication", Kind: Document, Title: "Redis replication", Author: "Redis documentation",
			Address: "https://redis.io/docs/latest/operate/oss_and_stack/management/replication/"},
		{ID: "Kleppmann", Kind: Document, Title: "How to do distributed locking", Author: "Martin Kleppmann",
			Address: "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html"},
		{ID: "antirez", Kind: Document, Title: "Is Redlock safe?", Author: "Salvatore Sanfilippo (antirez)", Address: "http://antirez.com/news/101"},
		{ID: "Redisson's published source", Kind: Document, Title: "Redisson", Author: "Redisson's authors", Address: "https://github.com/redisson/redisson"},
		{ID: "Redis in Action", Kind: Document, Title: "Chapter 6.2: distributed locking (Manning, 2013)", Author: "Josiah L. Carlson",
			Address: "https://www.manning.com/books/redis-in-action"},
	}
}

// threads are issues and pull requests, with the account that opened each. GitHub forwards the address of an issue to the pull request of that number.
func threads() []Reference {
	at := func(id, title, author string) Reference {
		return Reference{ID: id, Kind: Thread, Title: title, Author: author, Address: "https://github.com/" + strings.Replace(id, "#", "/issues/", 1)}
	}
	chinese := at("redisson/redisson#3194", "The watchdog no longer works after a reconnect", "burgleaf")
	chinese.Original = "断线重连后watchdog不再生效"
	return []Reference{
		at("hmchangw/newchat#486", "title not known", nobodyKnown),
		at("laravel/framework#26213", "Cache locks are unsafe", "yuloh"),
		at("laravel/horizon#1738", "Lock::get() uses non-atomic SETNX + EXPIRE (potential permanent deadlock)", "JoshSalway"),
		at("redis/go-redis#2985", "SetNX returning false for new keys", "alex-rufo"),
		at("redis/redis#416", "Use monotonic clock when available", "mfortini"),
		at("redis/redis-py#1031", "Fix race condition in redis.lock.Lock.release", "bmerry"),
		at("redis/redis-py#4258", "fix(lock): preserve token when sync Lock.release() fails", "ckarnell"),
		at("redisson/redisson#2883", "RedissonFairLock deadlock", "cynicgit"),
		chinese,
		at("redisson/redisson#3712", "Redisson renewExpiration not working after redis lock expires", "nomar22"),
		at("redisson/redisson#4822", "RLock can only be obtained by single redisson node after failover", "servionsolutions"),
		at("redisson/redisson#5115", "Is it possible for a watchdog to be alive on its own?", "wushu037"),
		at("swarthy/redis-semaphore#24", "Lost mutex when computer comes out of standby mode", "eric-vinci"),
		at("swarthy/redis-semaphore#199", "Connection timeout during refresh throws an unhandled error that shuts down node 16+", "Farenheith"),
		at("swarthy/redis-semaphore#205", "Losing locks in distributed system", "tcc-sejohnson"),
	}
}

// citation finds what a text cites: an article's number, an algorithm or workload, a thread, a number that follows a thread, a document.
var citation = regexp.MustCompile(`\b00\d\b|\b[AW]\d{1,2}\b|[\w.-]+/[\w.-]+#\d+|#\d+|redis\.io|Kleppmann|antirez|Redisson's published source|Redis in Action`)

// Cited lists the references that a text cites, in the order of the bibliography. The error names citations without an entry.
func Cited(text string) ([]Reference, error) {
	var unknown []string
	cited := map[string]bool{}
	all, repository := All(), ""
	for _, id := range citation.FindAllString(text, -1) {
		if before, _, ok := strings.Cut(id, "#"); ok && before != "" {
			repository = before
		} else if ok {
			id = repository + id
		}
		cited[id] = true
		if !slices.ContainsFunc(all, func(r Reference) bool { return r.ID == id }) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%q cites %s, which the bibliography does not have", text, strings.Join(unknown, ", "))
	}
	return slices.DeleteFunc(all, func(r Reference) bool { return !cited[r.ID] }), nil
}

// String is the entry in a line: "article 002: Title; hope_wisdom; address not known".
func (r Reference) String() string {
	text := r.ID + ": " + r.about()
	if r.Kind == Article {
		text = "article " + text
	}
	return text
}

// Describe is the entry without its ID: "Title; hope_wisdom; address not known", "SETNX, DEL (000)".
func (r Reference) Describe() string {
	if len(r.In) > 0 {
		return r.about() + " (" + strings.Join(r.In, ", ") + ")"
	}
	return r.about()
}

func (r Reference) about() string {
	text := r.Title
	if r.Author != "" {
		text += "; " + r.Author
	}
	switch {
	case len(r.In) > 0:
	case r.Address == "":
		text += "; address not known"
	default:
		text += "; " + r.Address
	}
	if r.Code != "" {
		text += "; code at " + r.Code
	}
	return text
}

/* SPDX-License-Identifier: MIT */
#include "fs/tree/renamed_numbers.h"

struct renamed_number {
    uint64_t parent, number;
    RB_ENTRY(renamed_number) by_name;
    TAILQ_ENTRY(renamed_number) by_age;
    struct bytes name; /* in text, or a caller's while it is sought */
    char text[];
};

static int compare_names(const struct renamed_number *a, const struct renamed_number *b)
{
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return bytes_compare(a->name, b->name);
}

RB_GENERATE_INTERNAL(renamed_name_tree, renamed_number, by_name, compare_names,
                     static __attribute__((unused)));

static struct renamed_number *find(const struct renamed_numbers *numbers, uint64_t parent,
                                   struct bytes name)
{
    struct renamed_number probe = {.parent = parent, .name = name};
    return RB_FIND(renamed_name_tree, (struct renamed_name_tree *)&numbers->names, &probe);
}

/* Takes NULL. */
static void drop(struct renamed_numbers *numbers, struct renamed_number *number)
{
    if (!number)
        return;
    (void)RB_REMOVE(renamed_name_tree, &numbers->names, number);
    TAILQ_REMOVE(&numbers->ages, number, by_age);
    numbers->count--;
    free(number);
}

void renamed_numbers_init(struct renamed_numbers *numbers)
{
    RB_INIT(&numbers->names);
    TAILQ_INIT(&numbers->ages);
    numbers->count = 0;
}

void renamed_numbers_finish(struct renamed_numbers *numbers)
{
    while (numbers->count > 0)
        drop(numbers, TAILQ_FIRST(&numbers->ages));
}

void renamed_numbers_drop(struct renamed_numbers *numbers, uint64_t parent, struct bytes name)
{
    drop(numbers, find(numbers, parent, name));
}

void renamed_numbers_put(struct renamed_numbers *numbers, uint64_t parent, struct bytes name,
                         uint64_t number)
{
    renamed_numbers_drop(numbers, parent, name);
    struct renamed_number *made = calloc(1, sizeof(*made) + name.size);
    if (!made)
        return;
    if (name.size > 0)
        memcpy(made->text, name.data, name.size);
    made->parent = parent;
    made->number = number;
    made->name = (struct bytes){made->text, name.size};
    (void)RB_INSERT(renamed_name_tree, &numbers->names, made);
    TAILQ_INSERT_TAIL(&numbers->ages, made, by_age);
    if (++numbers->count > RENAMED_NUMBERS_MAX)
        drop(numbers, TAILQ_FIRST(&numbers->ages));
}

uint64_t renamed_numbers_find(const struct renamed_numbers *numbers, uint64_t parent,
                              struct bytes name)
{
    const struct renamed_number *found = find(numbers, parent, name);
    return found ? found->number : 0;
}
